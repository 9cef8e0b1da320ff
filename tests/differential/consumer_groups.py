"""Sequences about groups of the consumer protocol (KIP-848), with classic members among them.

Which of several equally good assignments is made depends on the order in which Kafka walks its hash maps, and that on
ids. So members have ids of their own making, and where a broker makes them up, members vote for `range`, which sorts
them: ids that a broker makes up for classic members begin with the client's name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.differential.making import make_request, make_version
from tests.differential.members_offsets import commits, commits_in_a_transaction, fetches_offsets
from tests.differential.sequence import Step, request, set_of_group, topic, wait
from tests.talk.values import Value

PEOPLE = ("ada", "bob", "cleo")
HEARTBEAT = "ConsumerGroupHeartbeat"
SHORT_SESSION = {"consumer.heartbeat.interval.ms": "100", "consumer.session.timeout.ms": "4000"}
SHORT_REBALANCE_MS = 4_000
LONGER_MS = 6_500
"""Longer than a short session or rebalance timeout, which no other step approaches."""

ASKED = (
    *("ConsumerGroupDescribe",) * 4,
    *("OffsetDelete", "ListGroups", "DescribeGroups", "DeleteGroups", "FindCoordinator"),
)


@dataclass
class _Cast:
    """What stays the same through a sequence."""

    random: Random
    assignors: tuple[str | None, ...]
    with_classic: bool
    instances: dict[str, str] = field(default_factory=dict)


def consumers(random: Random) -> list[Step]:
    """Let members join, acknowledge, resubscribe, leave temporarily, fall silent, commit and leave."""
    with_classic = random.random() < 0.35
    cast = _Cast(random, ("range",) if with_classic else (None, None, "range", "uniform"), with_classic)
    if random.random() < 0.3:
        cast.instances = {"ada": "i1", "bob": "i2", "cleo": "i1"}
    steps = [topic("topic", random.choice((2, 3, 4)))]
    if random.random() < 0.4:
        steps = [topic("topic", 3, order="topics"), topic("topic2", 2, order="topics")]
    if random.random() < 0.08:
        steps.append(set_of_group(SHORT_SESSION))
    steps += random.choice(CLASSIC_BEGINNINGS if with_classic else BEGINNINGS)(cast)
    for _ in range(random.randint(2, 12)):
        steps += random.choice(MIXED_TURNS if with_classic else TURNS)(cast, random.choice(PEOPLE))
    return steps


def _beat(cast: _Cast, person: str, **values: Value) -> Step:
    values = {"group_id": "$group", "member_id": f"${person}", "member_epoch": f"${person}_epoch"} | values
    version = 0 if cast.random.random() < 0.1 and "subscribed_topic_regex" not in values else 1
    return request(person, HEARTBEAT, version, values)


def _wants(cast: _Cast) -> Value:
    chance = cast.random.random()
    topics = cast.random.choice((["$topic"], ["$topic"], ["$topic", "$topic2"], ["$topic2"], [], ["$topicnone"]))
    pattern = cast.random.choice(("topic2?-${mark}", "topic.*-${mark}", "${topic}", "none of these", "(", ""))
    if chance < 0.82:
        return {"subscribed_topic_names": topics}
    return {"subscribed_topic_names": topics if chance > 0.95 else None, "subscribed_topic_regex": pattern}


def _everything(cast: _Cast, person: str) -> Value:
    values: Value = {"rebalance_timeout_ms": cast.random.choice((*(30_000,) * 9, SHORT_REBALANCE_MS))}
    values |= _wants(cast) | {"server_assignor": cast.random.choice(cast.assignors)}
    if person in cast.instances:
        values["instance_id"] = cast.instances[person]
    if cast.random.random() < 0.05:
        values["rack_id"] = "r1"
    return values


# turns of one member


def _joins(cast: _Cast, person: str) -> list[Step]:
    values = _everything(cast, person) | {"topic_partitions": []}
    return [_beat(cast, person, member_id=f"{person}-member", member_epoch=0, **values)]


def _beats(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person)]


def _acknowledges(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, topic_partitions=f"${person}_share")]


def _still_owns(cast: _Cast, person: str) -> list[Step]:
    partitions = cast.random.choice(([0], [0, 1], [1], [0, 1, 2]))
    return [_beat(cast, person, topic_partitions=[{"topic_id": "$topic_id", "partitions": partitions}])]


def _repeats_everything(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, **_everything(cast, person), topic_partitions=f"${person}_share")]


def _changes_its_mind(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, **_wants(cast))]


def _leaves(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, member_epoch=-1)]


def _steps_out(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, member_epoch=-2, instance_id=cast.instances.get(person, "i1"))]


def _says_anything(cast: _Cast, person: str) -> list[Step]:
    step = make_version(HEARTBEAT, 1, cast.random, person)
    return [step._replace(values=step.values | {"server_assignor": cast.random.choice((*cast.assignors, "sticky"))})]


def _has_an_odd_epoch(cast: _Cast, person: str) -> list[Step]:
    share: Value = cast.random.choice((None, f"${person}_share", []))
    return [_beat(cast, person, member_epoch=cast.random.choice((0, 1, 2, 3, 99, -3)), topic_partitions=share)]


def _asks(cast: _Cast, person: str) -> list[Step]:
    return [make_request(cast.random.choice(ASKED), cast.random, person)]


def _falls_silent(cast: _Cast, person: str) -> list[Step]:
    if cast.random.random() < 0.7:
        return []
    return [wait(LONGER_MS)]


def _topics_change(cast: _Cast, person: str) -> list[Step]:
    chance = cast.random.random()
    if chance < 0.5:
        return []
    if chance < 0.8:
        grown = {"topics": [{"name": "$topic", "count": cast.random.choice((4, 5))}], "timeout_ms": 10_000}
        change = request(person, "CreatePartitions", 3, grown)
    elif chance < 0.9:
        change = request(person, "DeleteTopics", 5, {"topic_names": ["$topic"], "timeout_ms": 10_000})
    else:
        created = {"name": "$topicnone", "num_partitions": 2, "replication_factor": 1}
        change = request(person, "CreateTopics", 7, {"topics": [created], "timeout_ms": 10_000})
    return [change]


# Turns of classic members


def _subscribes(cast: _Cast, person: str) -> str:
    topics = cast.random.choice(("$topic", "$topic", "${topic} $topic2"))
    owned = cast.random.choice(("", "", " ${topic}:0", " ${topic}:0+1"))
    return f"subscription({topics.replace('$topic2', '${topic2}').replace('$topic', '${topic}')}{owned})"


def _joins_classic(cast: _Cast, person: str) -> list[Step]:
    member = cast.random.choice((f"${person}",) * 3 + ("",))
    return [_join(cast, person, member)]


def _join(cast: _Cast, person: str, member_id: str) -> Step:
    values: Value = {"group_id": "$group", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 30_000}
    values |= {"member_id": member_id, "protocol_type": "consumer", "group_instance_id": cast.instances.get(person)}
    protocols = [{"name": "range", "metadata": _subscribes(cast, person)}]
    if cast.random.random() < 0.15:
        protocols.append({"name": "roundrobin", "metadata": _subscribes(cast, person)})
    return request(person, "JoinGroup", cast.random.choice((9, 9, 9, 5, 2)), values | {"protocols": protocols})


def _syncs(cast: _Cast, person: str) -> list[Step]:
    return [_sync(cast, person)]


def _sync(cast: _Cast, person: str) -> Step:
    values: Value = {"group_id": "$group", "generation_id": f"${person}_epoch", "member_id": f"${person}"}
    values |= {"protocol_type": "consumer", "protocol_name": "range", "group_instance_id": cast.instances.get(person)}
    shares = cast.random.choice((("${topic}:0", "${topic}:1"), ("${topic}:0+1", "${topic}:1")))
    assignments = [
        {"member_id": f"${who}", "assignment": f"assignment({share})"}
        for who, share in zip(("ada", "bob"), shares, strict=True)
    ]
    return request(person, "SyncGroup", 5, values | {"assignments": assignments})


def _beats_classic(cast: _Cast, person: str) -> list[Step]:
    values: Value = {"group_id": "$group", "generation_id": f"${person}_epoch", "member_id": f"${person}"}
    return [request(person, "Heartbeat", 4, values | {"group_instance_id": cast.instances.get(person)})]


def _leaves_classic(cast: _Cast, person: str) -> list[Step]:
    instance = cast.instances.get(person) if cast.random.random() < 0.5 else None
    member = {"member_id": cast.random.choice((f"${person}", f"${person}", "")), "group_instance_id": instance}
    return [request(person, "LeaveGroup", 5, {"group_id": "$group", "members": [member]})]


def _asks_classic(cast: _Cast, person: str) -> list[Step]:
    apis = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
    return [make_request(cast.random.choice(apis), cast.random, person)]


# Beginnings


def _nobody(cast: _Cast) -> list[Step]:
    return []


def _one(cast: _Cast) -> list[Step]:
    return _joins(cast, "ada")


def _two(cast: _Cast) -> list[Step]:
    steps = [*_joins(cast, "ada"), *_joins(cast, "bob")]
    for person in ("ada", "bob"):
        steps += [_beat(cast, person), *_acknowledges(cast, person)]
    return steps


def _classic_group(cast: _Cast) -> list[Step]:
    join = [_join(cast, "ada", member) for member in ("", "$ada")]
    return [*(join[-1:] if "ada" in cast.instances and cast.random.random() < 0.5 else join), _sync(cast, "ada")]


def _classic_group_that_is_converted(cast: _Cast) -> list[Step]:
    return [*_classic_group(cast), *_joins(cast, "bob"), *_acknowledges(cast, "bob")]


def _group_that_a_classic_member_joins(cast: _Cast) -> list[Step]:
    return [*_joins(cast, "ada"), _join(cast, "bob", "bob-member"), _sync(cast, "bob"), *_acknowledges(cast, "ada")]


BEGINNINGS = (_nobody, _one, _one, _two, _two)
CLASSIC_BEGINNINGS = (
    _classic_group,
    _classic_group_that_is_converted,
    _classic_group_that_is_converted,
    _group_that_a_classic_member_joins,
    _two,
)
TURNS = (
    *(_joins, _beats, _acknowledges) * 3,
    *(_acknowledges, _repeats_everything, _changes_its_mind, _leaves, commits, _asks) * 2,
    *(_steps_out, _says_anything, _still_owns, _has_an_odd_epoch, fetches_offsets, _falls_silent, _topics_change),
    commits_in_a_transaction,
)
MIXED_TURNS = (*TURNS, *(_joins_classic, _syncs, _beats_classic) * 4, *(_leaves_classic, _asks_classic) * 2)
