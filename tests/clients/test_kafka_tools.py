"""Kafka's own command-line tools."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.clients.company import Company
from tests.clients.kafkas_own import said, table
from tests.clients.ordered_process import PATIENCE_S
from tests.clients.processes import eventually

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600), pytest.mark.usefixtures("kafkas_tools")]


@pytest.fixture
def shared(company: Company) -> Company:
    """Return a group with one member, ada, that has read and committed 3 records of every partition."""
    ada = company.join("ada", "confluent-kafka")
    company.until_consumed(company.produce(3), ada)
    return company


def test_topic_commands(bootstrap: str) -> None:
    name = f"topic-{uuid4().hex[:8]}"

    def topics(*arguments: str) -> str:
        return said("kafka-topics", "--bootstrap-server", bootstrap, *arguments)

    topics("--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=60000")
    assert name in topics("--list").split()
    described = topics("--describe", "--topic", name)
    assert "PartitionCount: 3" in described
    assert "retention.ms=60000" in described
    topics("--alter", "--topic", name, "--partitions", "5")
    assert "PartitionCount: 5" in topics("--describe", "--topic", name)
    topics("--delete", "--topic", name)
    assert name not in topics("--list").split()


def test_configs_are_changed_and_shown(bootstrap: str, company: Company) -> None:
    asked = ["--bootstrap-server", bootstrap, "--entity-type", "topics", "--entity-name", company.topic]
    said("kafka-configs", *asked, "--alter", "--add-config", "cleanup.policy=compact")
    assert "cleanup.policy=compact" in said("kafka-configs", *asked, "--describe")


def test_group_config_commands(bootstrap: str) -> None:
    group = f"group-{uuid4().hex[:8]}"
    asked = ["--bootstrap-server", bootstrap]
    said("kafka-configs", *asked, "--group", group, "--alter", "--add-config", "consumer.session.timeout.ms=50000")
    told = "consumer.session.timeout.ms=50000 sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:"
    assert told in said("kafka-configs", *asked, "--group", group, "--describe")
    every = said("kafka-configs", *asked, "--entity-type", "groups", "--describe")
    assert f"Dynamic configs for group {group} are:" in every.splitlines()


def test_console_producer_and_consumer(bootstrap: str) -> None:
    name, group = f"topic-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}"
    words = [f"word {number}" for number in range(20)]
    said("kafka-console-producer", "--bootstrap-server", bootstrap, "--topic", name, told="\n".join(words) + "\n")
    options = ["--bootstrap-server", bootstrap, "--topic", name, "--group", group, "--from-beginning"]
    heard = said("kafka-console-consumer", *options, "--max-messages", "20", "--timeout-ms", "30000")
    assert heard.splitlines() == words
    (row,) = table(said("kafka-consumer-groups", "--bootstrap-server", bootstrap, "--describe", "--group", group))
    assert (row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"]) == ("20", "20", "0")
    offsets = said("kafka-get-offsets", "--bootstrap-server", bootstrap, "--topic", name)
    assert offsets.split() == [f"{name}:0:20"]


def test_classic_group_commands(bootstrap: str, shared: Company) -> None:
    def groups(*arguments: str) -> str:
        return said("kafka-consumer-groups", "--bootstrap-server", bootstrap, *arguments)

    ada = shared.members[0]
    assert shared.group in groups("--list").split()
    shared.until(lambda: len(ada.owns) == 6, "ada owns everything")
    rows = table(groups("--describe", "--group", shared.group))
    assert {(row["PARTITION"], row["LOG-END-OFFSET"]) for row in rows} == {(str(number), "3") for number in range(6)}
    assert {row["CLIENT-ID"] for row in rows} == {"ada"}
    (member,) = table(groups("--describe", "--group", shared.group, "--members", "--verbose"))
    assert member["#PARTITIONS"] == "6"
    (state,) = table(groups("--describe", "--group", shared.group, "--state"))
    assert "Stable" in state.values()
    assert "GroupNotEmptyException" in groups("--delete", "--group", shared.group)
    ada.stop()
    groups("--reset-offsets", "--group", shared.group, "--topic", shared.topic, "--to-earliest", "--execute")
    rows = table(groups("--describe", "--group", shared.group))
    assert {row["CURRENT-OFFSET"] for row in rows} == {"0"}
    groups("--delete-offsets", "--group", shared.group, "--topic", shared.topic)
    groups("--delete", "--group", shared.group)
    assert shared.group not in groups("--list").split()


def test_consumer_protocol_group_commands(bootstrap: str, company: Company) -> None:
    address = ["--bootstrap-server", bootstrap]
    group = ["--group", company.group]

    def groups(*arguments: str) -> str:
        return said("kafka-consumer-groups", *address, *arguments)

    def listed(*arguments: str) -> dict[str, list[str]]:
        rows = said("kafka-groups", *address, "--list", *arguments).splitlines()
        return {name: rest for name, *rest in (row.split() for row in rows if row.strip())}

    said("kafka-configs", *address, *group, "--alter", "--add-config", "consumer.session.timeout.ms=2000")
    ada, bob = company.join("ada", "confluent-kafka", protocol="consumer"), company.join("bob", "kafka-python")
    company.until_shared_by(ada, bob)
    company.until_consumed(company.produce(3), ada, bob)
    assert listed("--group-type", "consumer")[company.group] == ["Consumer", "consumer"]
    assert company.group not in listed("--group-type", "classic")
    assert f"{company.group} Stable" in " ".join(groups("--list", "--state").split())

    (state,) = table(groups("--describe", *group, "--state", "--verbose"))
    assert (state["ASSIGNMENT-STRATEGY"], state["#MEMBERS"]) == ("uniform", "2")
    assert state["GROUP-EPOCH"] == state["TARGET-ASSIGNMENT-EPOCH"]
    members = {row["CLIENT-ID"]: row for row in table(groups("--describe", *group, "--members", "--verbose"))}
    for member, upgraded in ((ada, "true"), (bob, "false")):
        row = members[member.name]
        assert row["CURRENT-ASSIGNMENT"] == row["TARGET-ASSIGNMENT"] == f"{company.topic}:{_numbers(member.owns)}"
        assert (row["CURRENT-EPOCH"], row["UPGRADED"]) == (state["GROUP-EPOCH"], upgraded)
    rows = table(groups("--describe", *group, "--offsets"))
    owners = {int(row["PARTITION"]): row["CLIENT-ID"] for row in rows}
    assert owners == {partition: member.name for member in (ada, bob) for partition in member.owns}
    assert {row["LOG-END-OFFSET"] for row in rows} == {"3"}

    assert "GroupSubscribedToTopicException" in groups("--delete-offsets", *group, "--topic", company.topic)
    assert "GroupNotEmptyException" in groups("--delete", *group)
    bob.stop()
    company.until_shared_by(ada)
    ada.crash()
    eventually(lambda: f"{company.group} Empty" in " ".join(groups("--list", "--state").split()), "ada is missed")
    groups("--reset-offsets", *group, "--topic", company.topic, "--to-earliest", "--execute")
    assert {row["CURRENT-OFFSET"] for row in table(groups("--describe", *group))} == {"0"}
    groups("--delete-offsets", *group, "--topic", company.topic)
    groups("--delete", *group)
    assert company.group not in listed()


def _numbers(partitions: set[int]) -> str:
    return ",".join(str(partition) for partition in sorted(partitions))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_verifiable_producer_and_consumer(bootstrap: str, protocol: str) -> None:
    name, group = f"topic-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}"
    told = said("kafka-verifiable-producer", "--bootstrap-server", bootstrap, "--topic", name, "--max-messages", "100")
    assert [json.loads(line) for line in told.splitlines()][-1]["sent"] == 100
    options = ["--bootstrap-server", bootstrap, "--topic", name, "--group-id", group, "--max-messages", "100"]
    told = said("kafka-verifiable-consumer", *options, "--reset-policy", "earliest", "--group-protocol", protocol)
    events = [json.loads(line) for line in told.splitlines()]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 100
    assert any(event["name"] == "offsets_committed" and event["success"] for event in events)


def test_api_versions_of_every_node(bootstrap: str) -> None:
    told = said("kafka-broker-api-versions", "--bootstrap-server", bootstrap)
    nodes = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=PATIENCE_S).brokers
    assert told.count("-> (") == len(nodes)
    assert "JoinGroup(11): 0 to 9" in told


def test_hanging_transaction_is_described_and_aborted(bootstrap: str, company: Company) -> None:
    def transactions(*arguments: str) -> list[str]:
        lines = said("kafka-transactions", "--bootstrap-server", bootstrap, *arguments).splitlines()
        return [line for line in lines if line.strip()]

    name = f"txn-{uuid4().hex[:8]}"
    long_ms = 600_000  # each tool takes its time to start, and the transaction must not end before
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": long_ms})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(company.topic, b"undecided", partition=0)
    producer.flush(30)
    assert [line.split()[-1] for line in transactions("list") if line.startswith(name)] == ["Ongoing"]
    assert f"{company.topic}-0" in transactions("describe", "--transactional-id", name)[1]
    where = ["--topic", company.topic, "--partition", "0"]
    assert transactions("describe-producers", *where)[1].split()[-1] == "0"
    transactions("abort", *where, "--start-offset", "0")
    assert transactions("describe-producers", *where)[1].split()[-1] == "None"
    transactions("forceTerminateTransaction", "--transactionalId", name)
    assert "Empty" in transactions("describe", "--transactional-id", name)[1]
