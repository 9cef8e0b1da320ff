"""Sequences about streams groups (KIP-1071).

A sequence has one topology, which its members share, as threads of one application do; odd ones are among them. Its
internal topics are `topicnew` and `topicnew2`, which a broker makes a moment after it has missed them.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.differential.making import make_request, make_version
from tests.differential.members_offsets import commits, commits_in_a_transaction, fetches_offsets
from tests.differential.sequence import Step, disconnect, request, set_of_group, topic, wait
from tests.talk.values import Value

PEOPLE = ("ada", "bob", "cleo")
HEARTBEAT = "StreamsGroupHeartbeat"
SHORT_SESSION = {"streams.heartbeat.interval.ms": "100", "streams.session.timeout.ms": "4000"}
SHORT_REBALANCE_MS = 4_000
LONGER_MS = 6_500
"""Longer than a short session or rebalance timeout, which no other step approaches."""

ASKED = (
    *("StreamsGroupDescribe",) * 5,
    *("ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "FindCoordinator"),
    *("OffsetDelete", "DeleteGroups", "OffsetFetch"),
)
OTHERS = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "JoinGroup", "LeaveGroup")


@dataclass
class _Cast:
    """What stays the same through a sequence."""

    random: Random
    topology: Value
    processes: dict[str, str]
    endpoints: bool


def streams(random: Random) -> list[Step]:
    """Let threads join, take and revoke tasks, change metadata, fall silent, commit and leave."""
    processes = {person: random.choice((f"{person}-process", "a-process")) for person in PEOPLE}
    cast = _Cast(random, _topology(random), processes, random.random() < 0.3)
    steps = [topic("topic", random.choice((1, 2, 3)))]
    if random.random() < 0.5:
        steps.append(topic("topic2", random.choice((2, 3))))
    if random.random() < 0.08:
        steps.append(set_of_group(SHORT_SESSION))
    if random.random() < 0.25:
        steps.append(set_of_group({"streams.num.standby.replicas": random.choice(("1", "2"))}))
    steps += random.choice(BEGINNINGS)(cast)
    for _ in range(random.randint(2, 12)):
        steps += random.choice(TURNS)(cast, random.choice(PEOPLE))
    return steps


# Topologies


def _subtopology(name: str, reads: list[str], **others: Value) -> Value:
    return {"subtopology_id": name, "source_topics": reads} | others


def _internal(name: str, partitions: int = 0, **configs: str) -> Value:
    settings = [{"key": key.replace("_", "."), "value": value} for key, value in configs.items()]
    return {"name": name, "partitions": partitions, "replication_factor": 0, "topic_configs": settings}


def _topology(random: Random) -> Value:
    counted = _internal("$topicnew", random.choice((0, 0, 0, 2, 4)))
    store = _internal("$topicnew2", cleanup_policy="compact")
    writes = {"repartition_sink_topics": ["$topicnew"]}
    rereads = {"repartition_source_topics": [counted]}
    stores = {"state_changelog_topics": [store]}
    external = {"source_topics": [0, 1], "source_topic_regex": [], "repartition_source_topics": []}
    joined = {"source_topics": [0], "source_topic_regex": [], "repartition_source_topics": [0]}
    usual: tuple[list[Value], ...] = (
        [_subtopology("0", ["$topic"])],
        [_subtopology("0", ["$topic"])],
        [_subtopology("0", ["$topic"], **stores)],
        [_subtopology("0", ["$topic"], **stores)],
        [_subtopology("0", ["$topic"], **writes), _subtopology("1", [], **rereads)],
        [_subtopology("0", ["$topic"], **writes), _subtopology("1", [], **rereads, **stores)],
        [_subtopology("1", [], **rereads, **stores), _subtopology("0", ["$topic"], **writes)],
        [
            _subtopology("0", ["$topic"], **writes),
            _subtopology("1", ["$topic2"], **rereads, **stores, copartition_groups=[joined]),
        ],
        [_subtopology("0", ["$topic", "$topic2"], copartition_groups=[external])],
        [_subtopology("0", ["$topic", "$topic2"], **stores)],
        [_subtopology("a", ["$topic"]), _subtopology("b", ["$topic2"], **stores)],
        [_subtopology("b", ["$topic"]), _subtopology("a", ["$topic"])],
        [_subtopology(str(number), ["$topic"]) for number in range(4)],
    )
    odd: tuple[list[Value], ...] = (
        [],
        [_subtopology("0", ["$topicnone"])],
        [_subtopology("0", [])],
        [_subtopology("0", ["$topic"]), _subtopology("0", ["$topic2"])],
        [_subtopology("0", ["$topic", "$topic"])],
        [_subtopology("0", ["__consumer_offsets"])],
        [_subtopology("0", ["not a name"])],
        [_subtopology("0", ["$topic"], **rereads)],
        [_subtopology("0", ["$topic"], **writes)],
        [_subtopology("0", ["$topic"], **writes, **rereads)],
        [_subtopology("0", [], **writes, **rereads)],
        [_subtopology("0", ["$topic"], source_topic_regex=["topic.*"])],
        [_subtopology("0", ["$topic"], state_changelog_topics=[_internal("$topicnew2", 3)])],
        [_subtopology("0", ["$topic"], state_changelog_topics=[_internal("$topicnew2", retention_ms="a while")])],
        [_subtopology("0", ["$topic"], state_changelog_topics=[_internal("$topic2")])],
        [_subtopology("", ["$topic"])],
        [_subtopology("0", ["$topic"], copartition_groups=[external])],
    )
    chosen = random.choice(odd if random.random() < 0.2 else usual)
    return {"epoch": random.choice((0, 0, 0, 3)), "subtopologies": chosen}


# turns of one member


def _beat(cast: _Cast, person: str, **values: Value) -> Step:
    values = {"group_id": "$group", "member_id": f"${person}", "member_epoch": f"${person}_epoch"} | values
    values = {"rebalance_timeout_ms": -1, "endpoint_information_epoch": f"${person}_endpoints"} | values
    return request(person, HEARTBEAT, 0, values)


def _who(cast: _Cast, person: str) -> Value:
    values: Value = {"process_id": cast.processes[person]}
    if cast.endpoints:
        values["user_endpoint"] = {"host": f"{person}.example", "port": 80}
    if cast.random.random() < 0.15:
        values["rack_id"] = cast.random.choice(("r1", "r2"))
    if cast.random.random() < 0.15:
        values["client_tags"] = [{"key": "zone", "value": cast.random.choice(("a", "b"))}]
    return values


def _timeout(cast: _Cast) -> int:
    return cast.random.choice((*(30_000,) * 9, SHORT_REBALANCE_MS))


def _joins(cast: _Cast, person: str, **others: Value) -> list[Step]:
    owned: Value = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    values = {"topology": cast.topology, "rebalance_timeout_ms": _timeout(cast)} | owned | _who(cast, person)
    return [_beat(cast, person, **{"member_id": f"{person}-member", "member_epoch": 0} | values | others)]


def _joins_with_another_topology(cast: _Cast, person: str) -> list[Step]:
    topology = cast.topology | {"epoch": cast.random.choice((0, 1, 2, 4, -1))}
    if cast.random.random() < 0.3:
        topology = _topology(cast.random)
    return _joins(cast, person, topology=topology)


def _beats(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person)]


def _tasks(person: str) -> Value:
    return {"active_tasks": f"${person}_share", "standby_tasks": f"${person}_standby", "warmup_tasks": []}


def _acknowledges(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, **_tasks(person))]


def _says_what_it_owns(cast: _Cast, person: str) -> list[Step]:
    names = cast.random.choice((["0"], ["0", "1"], ["1"], ["0", "0"], ["7"]))
    partitions = cast.random.choice(([0], [0, 1], [1], [], [9], [-1], [0, 0]))
    owned: Value = [{"subtopology_id": name, "partitions": partitions} for name in names]
    standby: Value = cast.random.choice(([], [], owned, None))
    return [_beat(cast, person, active_tasks=owned, standby_tasks=standby, warmup_tasks=[])]


def _repeats_everything(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, rebalance_timeout_ms=_timeout(cast), **_who(cast, person), **_tasks(person))]


def _changes(cast: _Cast, person: str) -> list[Step]:
    changes: tuple[Value, ...] = (
        {"process_id": cast.random.choice((*PEOPLE, ""))},
        {"rack_id": "r3"},
        {"client_tags": [{"key": "zone", "value": "c"}, {"key": "cloud", "value": "d"}]},
        {"user_endpoint": {"host": "elsewhere.example", "port": 81}},
        {"rebalance_timeout_ms": cast.random.choice((60_000, 0, -2))},
    )
    return [_beat(cast, person, **cast.random.choice(changes))]


def _leaves(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, member_epoch=-1, endpoint_information_epoch=0)]


def _asks_all_to_stop(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, shutdown_application=True)]


def _has_an_odd_epoch(cast: _Cast, person: str) -> list[Step]:
    nothing: Value = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    owned: Value = cast.random.choice(({}, _tasks(person), nothing))
    return [_beat(cast, person, member_epoch=cast.random.choice((0, 1, 2, 3, 99, -2, -3)), **owned)]


def _says_anything(cast: _Cast, person: str) -> list[Step]:
    return [make_version(HEARTBEAT, 0, cast.random, person, **cast.random.choice(({}, {"topology": cast.topology})))]


def _asks(cast: _Cast, person: str) -> list[Step]:
    return [make_request(cast.random.choice(ASKED), cast.random, person)]


def _comes_as_somebody_else(cast: _Cast, person: str) -> list[Step]:
    return [make_request(cast.random.choice(OTHERS), cast.random, person, group_id="$group")]


def _falls_silent(cast: _Cast, person: str) -> list[Step]:
    return [wait(LONGER_MS)] if cast.random.random() < 0.3 else []


def _disconnects(cast: _Cast, person: str) -> list[Step]:
    return [disconnect(person)]


def _topics_change(cast: _Cast, person: str) -> list[Step]:
    chance = cast.random.random()
    if chance < 0.4:
        grown = {"name": cast.random.choice(("$topic", "$topic", "$topicnew")), "count": cast.random.choice((3, 4))}
        return [request(person, "CreatePartitions", 3, {"topics": [grown], "timeout_ms": 10_000})]
    if chance < 0.7:
        gone = cast.random.choice(("$topic", "$topic2", "$topicnew", "$topicnew2"))
        return [request(person, "DeleteTopics", 5, {"topic_names": [gone], "timeout_ms": 10_000})]
    name = cast.random.choice(("$topicnone", "$topic2", "$topicnew", "$topicnew2"))
    created = {"name": name, "num_partitions": 2, "replication_factor": 1}
    return [request(person, "CreateTopics", 7, {"topics": [created], "timeout_ms": 10_000})]


def _standby_changes(cast: _Cast, person: str) -> list[Step]:
    return [set_of_group({"streams.num.standby.replicas": cast.random.choice(("0", "1", "2"))})]


# Beginnings


def _nobody(cast: _Cast) -> list[Step]:
    return []


def _one(cast: _Cast) -> list[Step]:
    return [*_joins(cast, "ada"), _beat(cast, "ada"), *_acknowledges(cast, "ada")]


def _two(cast: _Cast) -> list[Step]:
    steps = [*_joins(cast, "ada"), *_joins(cast, "bob")]
    for person in ("ada", "bob", "ada"):
        steps += [_beat(cast, person), *_acknowledges(cast, person)]
    return steps


BEGINNINGS = (_nobody, _one, _one, _two, _two)
TURNS = (
    *(_joins, _beats, _acknowledges) * 4,
    *(_acknowledges, _repeats_everything, _changes, _leaves, commits, _asks) * 2,
    *(_has_an_odd_epoch, _says_what_it_owns, _says_anything, _asks_all_to_stop, _joins_with_another_topology),
    *(fetches_offsets, commits_in_a_transaction, _comes_as_somebody_else, _topics_change, _standby_changes),
    *(_falls_silent, _disconnects),
)
