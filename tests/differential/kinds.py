"""The types of sequences. Each starts with steps that create state and continues with random ones."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.differential.consumer_groups import consumers
from tests.differential.making import make_request, make_version
from tests.differential.sequence import Step, disconnect, request, topic, wait
from tests.differential.share_groups import shares
from tests.differential.streams_groups import streams
from tests.talk.values import Value

PEOPLE = ("ada", "ada", "ada", "bob", "ada/2", "bob/2")


def make_sequence(kind: str, seed: int) -> list[Step]:
    """Generate the sequence with that number."""
    return KINDS[kind](Random(f"{kind} {seed}"))


def groups(random: Random) -> list[Step]:
    """Let members of classic groups join, leave, fall silent, commit and query."""
    steps = [] if random.random() < 0.4 else [topic("topic", 2)]
    beginning = random.choice((_nobody, _one_member, _one_member, _static_member, _joining))
    steps += beginning(random)
    for _ in range(random.randint(1, 8)):
        chance = random.random()
        if chance < 0.06:
            steps.append(wait(random.choice((50, 1_500))))
        elif chance < 0.09:
            steps.append(disconnect(random.choice(PEOPLE)))
        else:
            steps.append(make_request(random.choice(GROUP_APIS), random, random.choice(PEOPLE)))
    return steps


GROUP_APIS = (
    *("JoinGroup",) * 5,
    *("SyncGroup",) * 3,
    *("Heartbeat", "LeaveGroup") * 2,
    *("OffsetCommit", "OffsetFetch") * 3,
    *("DescribeGroups",) * 2,
    *("ListGroups", "DeleteGroups", "OffsetDelete", "FindCoordinator", "TxnOffsetCommit"),
)


def _nobody(random: Random) -> list[Step]:
    return []


def _join(speaker: str, member_id: str, random: Random, **others: Value) -> Step:
    values: Value = {"group_id": "$group", "session_timeout_ms": random.choice((10_000, 10_000, 700))}
    values |= {"rebalance_timeout_ms": 30_000, "member_id": member_id, "protocol_type": "consumer"}
    values |= {"protocols": [{"name": "range", "metadata": random.choice(("m", "subscription($topic)"))}]}
    return request(speaker, "JoinGroup", 9, values | others)


def _sync(speaker: str, **others: Value) -> Step:
    values = {"group_id": "$group", "generation_id": "$generation", "member_id": f"${speaker}"}
    values |= {"protocol_type": "consumer", "protocol_name": "range"}
    shares = [{"member_id": "$ada", "assignment": "for-ada"}, {"member_id": "$bob", "assignment": "for-bob"}]
    return request(speaker, "SyncGroup", 5, values | {"assignments": shares} | others)


def _joining(random: Random) -> list[Step]:
    return [_join("ada", "", random), _join("ada", "$ada", random)]


def _one_member(random: Random) -> list[Step]:
    return [*_joining(random), _sync("ada")]


def _static_member(random: Random) -> list[Step]:
    return [_join("ada", "", random, group_instance_id="i1"), _sync("ada", group_instance_id="i1")]


def transactions(random: Random) -> list[Step]:
    """Let transactional and idempotent producers commit, abort, get fenced and time out."""
    steps = [topic("topic", 2), *([topic("topic2")] if random.random() < 0.2 else [])]
    if random.random() < 0.9:
        steps.append(_new_producer(random, None if random.random() < 0.2 else "$txn"))
    if random.random() < 0.5:
        steps.append(_written(0, random.choice((11, 12, 13))))
    for _ in range(random.randint(1, 9)):
        chance = random.random()
        if chance < 0.03:
            steps.append(wait(2_500))
        elif chance < 0.2:
            steps.append(_written(random.randint(0, 2), random.choice((3, 9, 12, 13))))
        else:
            steps.append(make_request(random.choice(TRANSACTION_APIS), random, random.choice(PEOPLE[:4])))
    return steps


TRANSACTION_APIS = (
    *("InitProducerId",) * 3,
    *("AddPartitionsToTxn",) * 4,
    *("AddOffsetsToTxn", "TxnOffsetCommit", "Produce") * 2,
    *("EndTxn",) * 4,
    *("Fetch", "ListOffsets", "OffsetFetch") * 2,
    *("DescribeTransactions", "ListTransactions", "DescribeProducers", "WriteTxnMarkers", "FindCoordinator"),
)


def _new_producer(random: Random, transactional_id: str | None) -> Step:
    values = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
    return request("ada", "InitProducerId", random.choice((4, 5)), values | {"producer_id": -1, "producer_epoch": -1})


def _written(sequence: int, version: int) -> Step:
    batch = f"batch(x pid:$pid epoch:$epoch sequence:{sequence} txn:1)"
    topic_named = {"topic_id": "$topic_id"} if version >= 13 else {"name": "$topic"}
    data = [topic_named | {"partition_data": [{"index": 0, "records": batch}]}]
    values = {"transactional_id": "$txn", "acks": -1, "timeout_ms": 5_000, "topic_data": data}
    return request("ada", "Produce", version, values)


def log(random: Random) -> list[Step]:
    """Write, fetch with and without sessions, search and truncate a partition's log."""
    steps = [topic("topic", 2), *([topic("topic2")] if random.random() < 0.3 else [])]
    if random.random() < 0.4:
        steps.append(_new_producer(random, None))
    for _ in range(random.randint(0, 3)):
        steps.append(make_version("Produce", 12, random, acks=-1, transactional_id=None))
    for _ in range(random.randint(1, 8)):
        steps.append(make_request(random.choice(LOG_APIS), random, random.choice(PEOPLE[:4])))
    return steps


LOG_APIS = (
    *("Produce",) * 3,
    *("Fetch",) * 6,
    *("ListOffsets",) * 4,
    *("DeleteRecords", "OffsetForLeaderEpoch") * 2,
    *("DescribeProducers", "Metadata", "DescribeTopicPartitions", "DescribeLogDirs"),
)


def topics(random: Random) -> list[Step]:
    """Alter topics and settings, describe the cluster, and send invalid requests."""
    steps = [topic("topic", 2), *([topic("topic2")] if random.random() < 0.4 else [])]
    for _ in range(random.randint(1, 7)):
        if random.random() < 0.04:
            steps.append(_odd_header(random))
        else:
            steps.append(make_request(random.choice(TOPIC_APIS), random, random.choice(PEOPLE[:4])))
    return steps


TOPIC_APIS = (
    *("CreateTopics",) * 4,
    *("CreatePartitions", "DeleteTopics", "Metadata", "DescribeConfigs", "IncrementalAlterConfigs") * 3,
    *("AlterConfigs", "ElectLeaders", "AlterPartitionReassignments") * 2,
    *("ListPartitionReassignments", "DescribeCluster", "DescribeLogDirs", "ListConfigResources", "ApiVersions"),
    *("DescribeTopicPartitions", "OffsetForLeaderEpoch", "DeleteRecords", "FindCoordinator", "DescribeGroups"),
)


def _odd_header(random: Random) -> Step:
    values = {"api_key": random.choice((0, 1, 3, 12, 18, 18, 22, -1, 999)), "body": "0x00"}
    values |= {"api_version": random.choice((-1, -32768, 99, 32767)), "flexible": random.random() < 0.5}
    return Step("sends", "ada", values=values)


KINDS: dict[str, Callable[[Random], list[Step]]] = {
    "groups": groups,
    "consumers": consumers,
    "shares": shares,
    "streams": streams,
    "transactions": transactions,
    "log": log,
    "topics": topics,
}
