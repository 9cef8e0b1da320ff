"""`kohort produce` and `kohort consume` at a cluster, kohort or any other, as members of groups too."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.partitioner.default import murmur2

from kohort.protocol.releases import CURRENT
from kohort.testing import Cluster, SyncCluster
from tests.clients.processes import Process, eventually
from tests.differential.brokers import real_kafka, warm_up, why_not
from tests.support.lacking import lacks
from tests.support.shared_folder import SHARED

pytestmark = pytest.mark.timeout(600)

REAL_KAFKA = SHARED / "conformance" / "kafka"

PATIENCE_S = 100  # timeout for members that join on a busy machine

KOHORT = [str(Path(sys.executable).parent / "kohort")]


def run(*words: str, told: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KOHORT, *words], input=told, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def said(*words: str, told: str = "") -> str:
    """Return the output of a command, which must succeed."""
    done = run(*words, told=told)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(
    scope="module",
    # The second one if the files next to the checkout can start it.
    params=["kohort", *([pytest.param("a real Kafka", marks=pytest.mark.libraries)] if REAL_KAFKA.exists() else [])],
)
def cluster(request: pytest.FixtureRequest) -> Iterator[str]:
    """Bootstrap addresses of a cluster, or of KOHORT_CLIENTS_BOOTSTRAP."""
    if request.param == "kohort":
        yield request.getfixturevalue("bootstrap")
        return
    if reason := why_not(REAL_KAFKA):
        lacks("program", reason)
    with real_kafka(REAL_KAFKA, CURRENT) as address:
        warm_up(address)
        yield address


@pytest.fixture
def topic(cluster: str) -> str:
    """A new one, of three partitions."""
    name = f"topic-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": cluster})
    kept = {"retention.ms": "-1"}  # some of these tests write old records
    (made,) = admin.create_topics([NewTopic(name, 3, 1, config=kept)]).values()
    made.result(PATIENCE_S)
    return name


def test_keys_headers_and_partitions_round_trip(cluster: str, topic: str) -> None:
    at = ["--bootstrap", cluster, topic]
    done = run("produce", *at, "-K", ":", "-H", "of=all", told="a:1\nb:2\na:3\nnone\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"4 records written to {topic}\n")
    said("produce", *at, "-p", "1", "-Z", "-D", "|", "-k", "fixed", told="x y||")
    found = said("consume", *at, "-e", "-q", "-f", "%k=%s;%h;%p\n", "-Z").splitlines()
    assert sorted(match.rpartition(";")[0] for match in found) == [
        "NULL=none;of=all", "a=1;of=all", "a=3;of=all", "b=2;of=all", "fixed=NULL;", "fixed=x y;"
    ]  # fmt: skip
    assert len({match[-1] for match in found if match.startswith("a=")}) == 1, "one key, one partition"
    assert {match[-1] for match in found if match.startswith("fixed=")} == {"1"}
    only = said("consume", *at, "-e", "-q", "-p", "1", "-K", "\\t").splitlines()
    assert {"fixed\tx y", "fixed\t"} <= set(only)


def test_key_partition_equals_java(cluster: str, topic: str) -> None:
    said("produce", "--bootstrap", cluster, topic, "-K", ":", told="".join(f"{key}:1\n" for key in "abcdefgh"))
    found = said("consume", "--bootstrap", cluster, topic, "-e", "-q", "-f", "%k%p ").split()
    # kafka-python's own murmur2, in place of librdkafka's
    assert sorted(found) == [f"{key}{(murmur2(key.encode()) & 0x7FFFFFFF) % 3}" for key in "abcdefgh"]


def test_json_output_can_be_produced(cluster: str, topic: str) -> None:
    at = ["--bootstrap", cluster, topic]
    line = {
        "payload": "ä",
        "key": {"base64": "/w=="},
        "headers": ["a", "1", "a", None],
        "partition": 2,
        "ts": 1700000000000,
    }
    said("produce", *at, "--json", told=json.dumps(line))
    printed = said("consume", *at, "-e", "-q", "--json")
    found = json.loads(printed)
    assert found | line == found
    assert (found["topic"], found["offset"], found["tstype"]) == (topic, 0, "create")
    said("produce", *at, "--json", told=printed)
    assert said("consume", *at, "-e", "-q", "-p", "2", "-f", "%o %s %T|") == "0 ä 1700000000000|1 ä 1700000000000|"


def test_consume_start_and_end(cluster: str, topic: str) -> None:
    at = ["--bootstrap", cluster, topic]
    lines = [json.dumps({"payload": str(number), "partition": 0, "ts": 1000 * number}) for number in range(1, 7)]
    said("produce", *at, "--json", told="\n".join(lines))

    def consumed(*words: str) -> list[str]:
        return said("consume", *at, "-q", *words).split()

    assert consumed("-e") == ["1", "2", "3", "4", "5", "6"]
    assert consumed("-e", "-o", "end") == []
    assert consumed("-e", "-o", "4") == ["5", "6"]
    assert consumed("-e", "-o", "-1") == ["6"]
    assert consumed("-o", "beginning", "-c", "2") == ["1", "2"]
    assert consumed("-e", "-o", "s@4000") == ["4", "5", "6"]
    assert consumed("-o", "s@2000", "-o", "e@4000") == ["2", "3"]
    assert consumed("-o", "e@99999") == ["1", "2", "3", "4", "5", "6"]
    assert consumed("-o", "e@1000") == []


def test_member_continues_at_its_commit(cluster: str, topic: str) -> None:
    at, group = ["--bootstrap", cluster, topic], f"group-{uuid4().hex[:8]}"
    said("produce", *at, "-p", "0", told="1\n2\n3\n")
    first = run("consume", *at, "-G", group, "-c", "2")
    assert (first.returncode, first.stdout.split()) == (0, ["1", "2"])
    assert f"{group}: this member is assigned {topic} [0], {topic} [1], {topic} [2]" in first.stderr.splitlines()
    assert said("consume", *at, "-G", group, "-e", "-q").split() == ["3"], "what was printed, was committed"
    assert said("consume", *at, "-G", group, "-e", "-q").split() == []
    assert said("consume", *at, "-G", f"{group}-other", "-o", "end", "-e", "-q").split() == []


@pytest.mark.parametrize("setting", ["heartbeat.interval.ms=100", "group.protocol=consumer"])
def test_members_share_topic_until_interrupt(
    cluster: str, topic: str, start: Callable[..., Process], setting: str
) -> None:
    command = ["consume", "--bootstrap", cluster, topic, "-G", f"group-{uuid4().hex[:8]}", "-X", setting]
    ada = start(*command)
    eventually(lambda: owned(ada, topic) == {0, 1, 2}, "ada has all", PATIENCE_S)
    bob = start(*command)
    eventually(lambda: bool(owned(bob, topic)), "bob has some", PATIENCE_S)
    eventually(lambda: owned(ada, topic) == {0, 1, 2} - owned(bob, topic), "ada has the others", PATIENCE_S)
    words = {f"word {number}" for number in range(30)}
    said("produce", "--bootstrap", cluster, topic, "-q", told="\n".join(words))
    eventually(lambda: words <= {*ada.lines, *bob.lines}, "each word is printed", PATIENCE_S)
    bob.interrupt()
    eventually(lambda: owned(ada, topic) == {0, 1, 2}, "ada has all again", PATIENCE_S)
    ada.interrupt()


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Starts kohort's commands, and ends them with the test."""
    started: list[Process] = []

    def start(*words: str) -> Process:
        started.append(Process([*KOHORT, *words]))
        return started[-1]

    yield start
    for process in started:
        process.crash()


def owned(member: Process, topic: str) -> set[int]:
    """Return the partitions that a member reports."""
    found: set[int] = set()
    for line in list(member.lines):
        for what, change in (
            ("this member is assigned ", found.update),
            ("this member releases ", found.difference_update),
        ):
            if what in line and topic in line:
                change(int(part.rpartition("[")[2].rstrip("]")) for part in line.partition(what)[2].split(", "))
    return found


def test_errors_are_one_line(cluster: str, topic: str) -> None:
    nobody = ["--bootstrap", "127.0.0.1:1", topic]
    at = ["--bootstrap", cluster]
    nowhere = "kohort: 127.0.0.1:1: nothing listens there; is this the broker's address, and does it run?\n"
    asked = [
        (("produce", *nobody), 1, nowhere),
        (("consume", *nobody), 1, nowhere),
        (("consume", *at, "no-such-topic"), 1, "kohort: topic no-such-topic does not exist\n"),
        (("consume", *at, topic, "-p", "9"), 1, f"kohort: {topic} has no partition 9; it has 3, from 0 on\n"),
        (("consume", *at, topic, "-X", "nope=1"), 2, 'kohort: No such configuration property: "nope"\n'),
        (("produce", "-q", *at, topic, "-J"), 1, "kohort: line 1 is not a JSON object\n0 records written"),
    ]
    for words, code, sentence in asked:
        done = run(*words, told="[1]\n")
        assert (done.returncode, done.stdout) == (code, ""), words
        assert sentence.startswith(done.stderr), words


def test_first_invalid_record_ends_production(cluster: str, topic: str) -> None:
    at = ["--bootstrap", cluster, topic]
    done = run("produce", *at, "--json", told='{"payload": "1"}\n{"payloads": "2"}\n{"payload": "3"}\n')
    assert done.returncode == 1
    assert done.stderr == (
        f"kohort: line 2 has an unknown field 'payloads'; did you mean payload?\n1 record written to {topic}\n"
    )
    assert said("consume", *at, "-e", "-q") == "1\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_consumer_with_exit_code(cluster: str, topic: str, number: signal.Signals) -> None:
    said("produce", "--bootstrap", cluster, topic, told="1\n")
    for more, code in ((), 0), (("-c", "2"), 130):
        command = [*KOHORT, "consume", "--bootstrap", cluster, topic, "-q", *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as consuming:
            assert consuming.stdout is not None
            assert consuming.stdout.readline() == "1\n"
            consuming.send_signal(number)
            assert consuming.communicate(timeout=PATIENCE_S) == ("", "")
            assert consuming.returncode == code


def test_interrupt_flushes_records(cluster: str, topic: str) -> None:
    at = ["--bootstrap", cluster, topic]
    with subprocess.Popen(
        [*KOHORT, "produce", *at], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as producing:
        assert producing.stdin is not None
        producing.stdin.write("1\n2\n")
        producing.stdin.flush()
        # On a busy machine they are read from the pipe one by one, and sent to two partitions.
        assert sorted(said("consume", *at, "-q", "-c", "2").split()) == ["1", "2"], "they are sent as they come"
        producing.send_signal(signal.SIGINT)
        _, told = producing.communicate(timeout=PATIENCE_S)
    assert (producing.returncode, told) == (130, f"2 records written to {topic}\n")


def properties(kafka: SyncCluster, folder: Path) -> str:
    """Write client properties for alice."""
    file = folder / "alice.properties"
    settings = kafka.client_config("alice", library="java")
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items() if name != "bootstrap.servers"))
    return str(file)


@pytest.mark.parametrize("security", ["SSL", "SASL_SSL", "SASL_PLAINTEXT"])
def test_client_properties_open_secured_cluster(security: str, tmp_path: Path) -> None:
    with Cluster(security=security) as kafka:
        kafka.topics.create("orders")
        at = ["--bootstrap", kafka.bootstrap, "--command-config", properties(kafka, tmp_path), "orders"]
        said("produce", *at, told="1\n")
        assert said("consume", *at, "-e", "-q", "-G", "billing") == "1\n"
        refused = run("consume", "--bootstrap", kafka.bootstrap, "orders", "-e")
        assert refused.returncode == 1
        if security.endswith("SSL"):
            assert f"kohort: {kafka.bootstrap}: it requires TLS; give --command-config FILE" in refused.stderr


def test_missing_right_is_named(tmp_path: Path) -> None:
    settings = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with Cluster(security="SASL_PLAINTEXT", settings=settings) as kafka:
        kafka.topics.create("orders")
        kafka.acls.allow("User:alice", "Describe", topic="orders")
        at = ["--bootstrap", kafka.bootstrap, "--command-config", properties(kafka, tmp_path), "orders"]
        for words in (("produce", *at, "-X", "enable.idempotence=false"), ("consume", *at, "-e")):
            refused = run(*words, told="1\n")
            assert refused.returncode == 1
            assert "TOPIC_AUTHORIZATION_FAILED" in refused.stderr
            assert "Traceback" not in refused.stderr
