"""Kafka Streams as a streams group (KIP-1071): the broker makes its topics and hands out its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from kohort.coordinator.groups.group_placement import partition_for
from tests.clients.administration import Admin
from tests.clients.kafkas_own import said, table
from tests.clients.processes import eventually
from tests.clients.serving import serving
from tests.clients.streaming import KEYS, PARTITIONS, Application, Traffic
from tests.restarting import SERVE, kill, restart, start

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600), pytest.mark.usefixtures("kafkas_tools")]

# so that killed instances are removed soon
SHORT_SESSION = "streams.session.timeout.ms=3000,streams.heartbeat.interval.ms=300"

Made = Callable[..., Application]


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Made]:
    """Makes an application that is a streams group, given a bootstrap address and settings of the group."""
    made: list[Application] = []

    def make(bootstrap: str, *settings: str, copies: int = 1, guarantee: str = "exactly_once_v2") -> Application:
        one = Application(bootstrap, guarantee, tmp_path, copies=copies)
        made.append(one)
        told = ",".join([SHORT_SESSION, *settings])
        said("kafka-configs", "--bootstrap-server", bootstrap, "--group", one.group_id, "--alter", "--add-config", told)
        return one

    yield make
    for one in made:
        for instance in one.instances:
            instance.crash()


def test_records_count_once_despite_churn(bootstrap: str, application: Made) -> None:
    stream = application(bootstrap)
    digits = stream.count_last_digits()
    traffic = Traffic(stream)
    stream.crashes_in_a_transaction("first")
    first, second = stream.start("first"), stream.start("second")
    stream.goes_on()
    third = stream.start("third")  # scales out
    stream.goes_on()
    second.crash()
    stream.goes_on()
    first.stop()  # scales in
    stream.goes_on()
    stream.start("second")  # comes back, and fences what it was before
    third.crash()
    stream.goes_on()
    check(stream, digits, traffic.stop())


def test_standby_owner_takes_over(bootstrap: str, application: Made) -> None:
    stream = application(bootstrap, "streams.num.standby.replicas=1")
    digits = stream.count_last_digits()
    first, second = stream.start("first"), stream.start("second")
    for instance in (first, second):
        instance.until(lambda lines: len(told_of("copying", lines)) >= PARTITIONS, "copies are kept", 90)
    kept = told_of("copying", second.lines)
    assert kept.isdisjoint(told_of("copying", first.lines)), "no store has copies in both processes"
    expected = stream.produce(0, 4_000)
    check(stream, digits, expected)
    first.crash()
    before = len(second.lines)
    second.until(lambda lines: kept <= told_of("restored", lines[before:]), "who kept copies has the tasks", 90)
    restored = [int(line.split()[-1]) for line in second.lines[before:] if line.startswith("restored ")]
    assert sum(restored) < expected.total() / 10
    expected |= stream.produce(4_000, 400)
    check(stream, digits, expected)


def test_stateless_stream_is_copied(bootstrap: str, application: Made) -> None:
    stream = application(bootstrap, guarantee="at_least_once")
    stream.count_last_digits()
    first, second, third = (stream.start(name) for name in ("first", "second", "third"))
    expected = stream.produce(0, 400)
    assert set(stream.copied(expected)) == set(expected)
    for instance in (first, second, third):
        instance.stop()


def test_static_instance_returns_without_rebalance(bootstrap: str, application: Made) -> None:
    stream = application(bootstrap, "streams.session.timeout.ms=60000", guarantee="at_least_once")
    stream.count_last_digits()
    first, _ = stream.start("first", "i1"), stream.start("second", "i2")
    expected = stream.produce(0, 400)
    assert set(stream.copied(expected)) == set(expected)
    of_group = ["--bootstrap-server", bootstrap, "--group", stream.group_id]
    describe = partial(said, "kafka-streams-groups", *of_group, "--describe", "--state", "--verbose")
    eventually(lambda: "Stable" in describe(), "the group is stable", 60)
    (first_row,) = table(describe())
    first.stop()
    (row_without_first,) = table(describe())
    assert (row_without_first["GROUP-EPOCH"], row_without_first["#MEMBERS"]) == (first_row["GROUP-EPOCH"], "2")
    stream.start("first", "i1")
    expected |= stream.produce(400, 400)
    assert set(stream.copied(expected)) == set(expected)
    eventually(lambda: "Stable" in describe(), "the group is stable again", 60)
    (last_row,) = table(describe())
    assert (last_row["GROUP-EPOCH"], last_row["#MEMBERS"]) == (first_row["GROUP-EPOCH"], "2")


def test_new_topology_needs_group_deletion(bootstrap: str, application: Made) -> None:
    stream = application(bootstrap, guarantee="at_least_once")
    stream.count_last_digits()
    stream.start("old")
    stream.copied(stream.produce(0, 40))
    stream.change_topology()
    refused = stream.launch("new")
    refused.until(partial(names, "Topology updates are not supported yet"), "another topology is refused", 90)
    for instance in stream.instances:
        instance.crash()
    of_group = ["--bootstrap-server", bootstrap, "--group", stream.group_id]
    described = partial(said, "kafka-streams-groups", *of_group, "--describe", "--state")
    eventually(lambda: "Empty" in described(), "all members are removed", 60)
    assert "was successful" in said("kafka-streams-groups", *of_group, "--delete")
    stream.start("newer")
    expected = stream.produce(40, 40)
    assert set(expected) <= set(stream.copied(expected))


@pytest.mark.needs("our own broker")
def test_moved_coordinators_and_stopped_brokers(application: Made) -> None:
    options = ("--control", ":0", "--set", "default.replication.factor=3")
    with serving(nodes=3, options=options) as ready:
        bootstrap, _, control = ready.partition(" control=")
        stream, admin = application(bootstrap, copies=3), Admin(control)
        digits = stream.count_last_digits()
        traffic = Traffic(stream)
        stream.start("first")
        stream.start("second")
        partition = str(partition_for(stream.group_id, 50))
        for node in ("1", "2", "3"):
            admin("move-leader", "__consumer_offsets", partition, node)
            stream.goes_on()
        for node in ("2", "3", "1"):
            admin("stop-node", node)
            stream.goes_on()
            admin("start-node", node)
            stream.goes_on()
        check(stream, digits, traffic.stop())


@pytest.mark.needs("our own broker")
def test_killed_broker_loses_nothing(tmp_path: Path, application: Made) -> None:
    bootstrap = start(tmp_path, SERVE)
    try:
        stream = application(bootstrap)
        digits = stream.count_last_digits()
        traffic = Traffic(stream)
        stream.start("first")
        stream.start("second")
        for _ in range(3):
            restart(tmp_path)
            stream.goes_on()
        check(stream, digits, traffic.stop())
        for instance in stream.instances:
            instance.crash()
    finally:
        kill(tmp_path)


def check(stream: Application, digits: str, expected: Counter[str]) -> None:
    """Check that no record is lost or duplicated, in the copy, and in both counts."""
    heard, rows = stream.all_copied(expected)
    assert heard == expected, "nothing is lost, and nothing comes twice"
    for key in KEYS:
        numbers = [int(value) for each, value in rows if each == key]
        assert all(one < next_one for one, next_one in pairwise(numbers))
    total = expected.total()
    assert stream.counted(total) == {key: total // len(KEYS) for key in KEYS}
    assert stream.counted(total, digits) == {str(digit): total // 10 for digit in range(10)}


def names(sentence: str, lines: list[str]) -> bool:
    return any(sentence in line for line in lines)


def told_of(word: str, lines: list[str]) -> set[str]:
    """Return the partitions of stores that a process is copying or has restored."""
    return {line.split()[1] for line in lines if line.startswith(f"{word} ")}


# Kafka's own tool


def test_complete_streams_group_lifecycle(bootstrap: str, application: Made) -> None:
    stream = application(bootstrap, guarantee="at_least_once")
    stream.count_last_digits()
    asked = ["--bootstrap-server", bootstrap]
    of_group = [*asked, "--group", stream.group_id]
    instance = stream.start()
    stream.copied(stream.produce(0, 40))
    (row,) = [
        row for row in table(said("kafka-groups", *asked, "--list", "--streams")) if row["GROUP"] == stream.group_id
    ]
    assert (row["TYPE"], row["PROTOCOL"]) == ("Streams", "streams")
    (row,) = table(said("kafka-streams-groups", *of_group, "--describe", "--state"))
    assert (row["STATE"], row["#MEMBERS"]) == ("Stable", "1")
    listed = table(said("kafka-streams-groups", *asked, "--list", "--state"))
    assert {"GROUP": stream.group_id, "STATE": "Stable"} in listed
    members = said("kafka-streams-groups", *of_group, "--describe", "--members", "--verbose")
    assert "ACTIVE: 0:[0,1,2,3]; 1:[0,1,2,3]" in members
    rows = table(said("kafka-streams-groups", *of_group, "--describe", "--offsets"))
    assert sorted(row["PARTITION"] for row in rows if row["TOPIC"] == stream.source) == ["0", "1", "2", "3"]
    assert sum(row["TOPIC"].endswith("-repartition") for row in rows) == PARTITIONS, "it is counted as a source, too"
    instance.stop()
    said_of_state = partial(said, "kafka-streams-groups", *of_group, "--describe", "--state")
    eventually(lambda: "Empty" in said_of_state(), "all members have left", 60)
    reset = ["--reset-offsets", "--all-input-topics", "--to-earliest", "--execute"]
    rows = table(said("kafka-streams-groups", *of_group, *reset))
    assert {(row["TOPIC"], row["NEW-OFFSET"]) for row in rows} == {(stream.source, "0")}
    deleted = said("kafka-streams-groups", *of_group, "--delete-offsets", "--input-topic", stream.source)
    assert deleted.count("Successful") == PARTITIONS
    assert "was successful" in said("kafka-streams-groups", *of_group, "--delete")
    assert stream.group_id not in said("kafka-streams-groups", *asked, "--list").split()


def test_streams_groups_are_a_feature(bootstrap: str) -> None:
    described = said("kafka-features", "--bootstrap-server", bootstrap, "describe")
    (line,) = [line for line in described.splitlines() if "streams.version" in line]
    assert "FinalizedVersionLevel: 1" in line
