"""`kohort ctl`: the laboratory from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from kafka.admin import KafkaAdminClient, NewTopic

from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from tests.clients.serving import serving

pytestmark = pytest.mark.needs("our own broker")


class Ctl:
    """Runs commands, and returns exit code and output."""

    def __init__(self, control: str) -> None:
        self.control = control

    def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]:
        command = [sys.executable, "-m", "kohort.cli", "ctl", *words, "--control", self.control]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, input=stdin)
        return ended.returncode, (ended.stdout or ended.stderr).rstrip("\n")


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[str, Ctl]]:
    """Bootstrap address, and the command line."""
    with serving(options=("--control", ":0")) as ready:
        bootstrap, _, control = ready.partition(" control=")
        with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
            admin.create_topics([NewTopic("orders", 1, 1)])
        yield bootstrap, Ctl(control)


def test_group_wait_display_and_expiry(broker: tuple[str, Ctl], tmp_path: Path) -> None:
    bootstrap, ctl = broker
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "client.id": "ada"})
    consumer.subscribe(["orders"])
    try:
        while not consumer.assignment():
            consumer.poll(0.05)
        code, told = ctl("groups", "wait", "billing", "--members", "1")
        assert code == 0
        assert told.startswith("billing: Stable, generation ")
        assert ctl("groups", "list") == (0, told)
        assert ctl("groups", "show", "billing")[1].splitlines()[1] == "  ada@127.0.0.1: orders 0"
        assert ctl("groups", "explain", "billing")[1].splitlines()[1] == "  waits for nothing"
        code, late = ctl("groups", "wait", "billing", "--members", "2", "--timeout", "0.01")
        assert (code, "is not Stable with 2 members" in late) == (1, True)

        rules = tmp_path / "faults.yaml"
        rules.write_text("- match: {group: billing, client_id: ada}\n  do: hold\n")
        assert ctl("faults", "add", str(rules)) == (
            0, "rule 1: any request with client_id ada, group billing: hold it (seen 0, acted 0)"
        )  # fmt: skip
        wrong = tmp_path / "wrong.yaml"
        wrong.write_text("- match: {api: Heartbeat}\n  do: drop\n- match: {api: Hartbeat}\n  do: drop\n")
        code, told = ctl("faults", "add", str(wrong))
        assert (code, "wrong.yaml, rule 2: unknown API 'Hartbeat'; did you mean Heartbeat?" in told) == (1, True)
        assert len(ctl("faults", "list")[1].splitlines()) == 1
        assert ctl("clock", "pause")[1].endswith("is paused")
        assert ctl("clock", "advance", "46")[0] == 0
        assert "(session expired)" in ctl("groups", "timeline", "billing")[1]
        assert ": session expired (ada), completed" in ctl("groups", "history", "billing")[1].splitlines()[-1]
        assert ctl("clock", "run")[1].endswith("runs, 1.0 times as fast as the machine's")
        assert ctl("faults", "remove", "1") == (0, "")
        assert ctl("faults", "list") == (0, "")
    finally:
        consumer.close()


def test_topics_are_made_and_written_to(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    assert ctl("topics", "create", "parcels", "--config", "cleanup.policy=compact") == (
        0, "parcels: 1 partition, 0 records"
    )  # fmt: skip
    assert ctl("topics", "create-partitions", "parcels", "2") == (0, "parcels: 2 partitions, 0 records")
    assert ctl("topics", "append", "parcels", "a", "b", "--partition", "1") == (0, "parcels-1: offset 0 to 1")
    assert ctl("topics", "append", "parcels", "c", "--key", "k") == (0, "parcels-0: offset 0")
    code, listed = ctl("topics", "list")
    assert (code, "parcels: 2 partitions, 3 records" in listed.splitlines()) == (0, True)
    assert "__consumer_offsets" not in listed
    assert "__consumer_offsets" in ctl("topics", "list", "--internal")[1]
    code, refused = ctl("topics", "create", "parcels")
    assert (code, "already exists" in refused) == (1, True)
    assert ctl("topics", "create", "letters", "--config", "cleanup")[0] == 2


def test_records_and_offsets(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    ctl("topics", "create", "bills")
    ctl("topics", "append", "bills", "a", "b", "--key", "k")
    assert ctl("topics", "records", "bills", "--key", "k", "--offset", "1") == (0, "bills-0 1: k = b")
    assert ctl("topics", "records", "bills", "--since", "2090-01-01T00:00:00Z") == (0, "")
    assert "'soon' is not a time" in ctl("topics", "records", "bills", "--since", "soon")[1]
    assert ctl("topics", "records", "bills") == (0, "bills-0 0: k = a\nbills-0 1: k = b")
    assert ctl("topics", "delete-records", "bills", "1") == (0, "bills: 1 partition, 1 record")
    code, told = ctl("groups", "reset", "payer", "--topic", "bills")
    assert (code, told.startswith("payer: Empty, generation 0, 0 members")) == (0, True)
    assert ctl("groups", "offsets", "payer") == (0, "bills-0: 1, lag 1")
    assert ctl("groups", "reset", "payer", "--to", "7") == (
        1, "kohort: bills-0 has offsets 1 to 2; the group cannot be reset to 7"
    )  # fmt: skip
    assert ctl("groups", "delete", "payer") == (0, "")
    assert ctl("topics", "delete", "bills") == (0, "")
    assert ctl("topics", "records", "bills")[0] == 1


def test_answers_are_printed_as_json(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    ctl("topics", "create", "cards")
    code, told = ctl("--json", "topics", "list")
    assert (code, "cards" in [load["name"] for load in json.loads(told)]) == (0, True)
    assert json.loads(ctl("--json", "clock", "show")[1])["paused"] is False
    assert json.loads(ctl("--json", "gates", "list")[1]) == []
    code, refused = ctl("--json", "groups", "show", "missing")
    assert (code, refused) == (1, "kohort: group missing does not exist or has no coordinator")


def test_rules_from_stdin_and_frozen_members(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    code, told = ctl("faults", "add", "-", stdin="- {match: {api: Heartbeat}, do: drop, times: 1}")
    assert (code, "Heartbeat: drop it" in told) == (0, True)
    code, told = ctl("faults", "add", "-", stdin="- {match: {api: Hartbeat}, do: drop}")
    assert (code, told) == (1, "kohort: stdin, rule 1: unknown API 'Hartbeat'; did you mean Heartbeat?")
    code, told = ctl("faults", "freeze", "billing", "ada")
    assert (code, "any request with group billing, member ada: hold it" in told) == (0, True)
    number = told.removeprefix("rule ").partition(":")[0]
    code, told = ctl("faults", "wait", number, "--timeout", "0.05")
    assert (code, "has acted 0 times, not 1" in told) == (1, True)
    ctl("faults", "remove")


def test_rights_are_given_and_taken_away() -> None:
    guarded = ("--set", f"authorizer.class.name={STANDARD_AUTHORIZER}")
    with serving(options=("--control", ":0", *guarded)) as ready:
        ctl = Ctl(ready.partition(" control=")[2])
        assert ctl("acls", "list") == (0, "")
        reads = "User:alice from *: ALLOW READ on TOPIC:PREFIXED:ord"
        assert ctl("acls", "add", "User:alice", "Read", "--topic", "ord", "--prefixed") == (0, reads)
        denied = "User:bob from 10.0.0.1: DENY ALL on CLUSTER:LITERAL:kafka-cluster"
        assert ctl("acls", "add", "User:bob", "--deny", "--cluster", "--host", "10.0.0.1") == (0, denied)
        assert set(ctl("acls", "list")[1].splitlines()) == {reads, denied}
        assert ctl("acls", "remove", "--cluster", "--permission", "deny") == (0, denied)
        assert ctl("acls", "remove", "--topic", "ord", "--literal") == (0, "")
        assert ctl("acls", "add", "alice", "--topic", "ord")[1].startswith(
            "kohort: a principal must have a type and a name"
        )
        assert ctl("acls", "remove") == (0, reads)
        assert ctl("acls", "list") == (0, "")


def test_address_may_be_url(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    assert Ctl(f"http://{ctl.control}/")("clock", "show")[0] == 0


def test_gates_and_appends_are_released(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    assert ctl("gates", "hold", "join-complete", "--group", "fraud") == (
        0, "join-complete of group fraud: holds nothing"
    )  # fmt: skip
    assert "offsets-loaded" in ctl("gates", "stops")[1]
    assert ctl("gates", "release", "join-complete", "ada") == (
        1, "kohort: ada is not waiting at join-complete; waiting: none"
    )  # fmt: skip
    assert ctl("gates", "open", "join-complete", "--group", "billing")[0] == 1
    assert ctl("gates", "open", "join-complete", "--group", "fraud") == (0, "")
    assert ctl("gates", "list") == (0, "")
    ctl("gates", "hold", "join-complete")
    assert ctl("reset") == (0, "gate join-complete was still held; waiting: none")
    assert ctl("appends", "hold", "--kind", "commit", "--group", "fraud") == (
        0, "rule 1: writes of kind commit of group fraud are held (acted 0, holds 0)"
    )  # fmt: skip
    assert ctl("appends", "delay", "2.5")[1].startswith("rule 2: all writes are reported 2500 ms late")
    assert ctl("appends", "fail", "--times", "1")[1].startswith("rule 3: all writes fail with NOT_ENOUGH_REPLICAS")
    assert ctl("appends", "release", "1")[0] == 0
    assert ctl("appends", "remove", "9")[0] == 1
    assert len(ctl("appends", "list")[1].splitlines()) == 3
    assert ctl("appends", "remove") == (0, "")


def test_refusals_are_one_sentence(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    assert ctl("groups", "show", "missing") == (
        1, "kohort: group missing does not exist or has no coordinator"
    )  # fmt: skip
    code, told = ctl("gates", "hold", "join-completed")
    assert (code, "did you mean join-complete?" in told) == (1, True)
    assert ctl("violations") == (0, "")


def test_topics_and_groups_are_described(broker: tuple[str, Ctl]) -> None:
    _, ctl = broker
    ctl("topics", "create", "invoices", "--config", "retention.ms=-1")
    ctl("topics", "append", "invoices", "a")
    head, setting, partition = ctl("topics", "describe", "invoices")[1].splitlines()
    assert (head, setting) == ("invoices: 1 partition, 1 record", "  retention.ms=-1")
    assert partition.startswith("  invoices-0: leader 1, replicas 1, in sync 1, offsets 0 to 1, ")
    ctl("groups", "reset", "clerk", "--topic", "invoices")
    head, lag = ctl("groups", "describe", "clerk")[1].splitlines()
    assert head.startswith("clerk: Empty, generation 0, 0 members")
    assert lag == "invoices-0: 0, lag 1"


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("JoinGroup --group billing --hold", "JoinGroup with group billing: hold it"),
        ("Heartbeat --error REBALANCE_IN_PROGRESS --times 2", "Heartbeat: answer REBALANCE_IN_PROGRESS"),
        ("--client-id ada --delay 2.5", "any request with client_id ada: delay it"),
    ],
)
def test_rule_on_one_line(broker: tuple[str, Ctl], words: str, rule: str) -> None:
    _, ctl = broker
    code, line = ctl("faults", "on", *words.split())
    assert code == 0
    assert rule in line
    ctl("faults", "remove")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("JoinGroup", "expected one action, such as --hold or --error NAME; got none"),
        ("JoinGroup --hold --drop", "got --drop and --hold"),
    ],
)
def test_rule_needs_one_action(broker: tuple[str, Ctl], words: str, sentence: str) -> None:
    code, message = broker[1]("faults", "on", *words.split())
    assert code == 2
    assert sentence in message


def test_unknown_api_of_rule(broker: tuple[str, Ctl]) -> None:
    assert broker[1]("faults", "on", "Hartbeat", "--hold") == (
        1, "kohort: unknown API 'Hartbeat'; did you mean Heartbeat?"
    )  # fmt: skip
