"""Sequences about share groups (KIP-932): members, sessions, records and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.differential.codec import request_of, shape_of
from tests.differential.making import make_request, make_version
from tests.differential.sequence import Step, disconnect, request, set_of_group, topic, wait
from tests.talk.values import Value

PEOPLE = ("ada", "bob", "cleo")
HEARTBEAT = "ShareGroupHeartbeat"
SHORT_LOCK_MS = 1_000
LONGER_MS = 1_700
"""Longer than a lock that is short."""
MARKER_MS = 300
SHORT_SESSION = {"share.heartbeat.interval.ms": "100", "share.session.timeout.ms": "4000"}
SILENT_MS = 6_500

ASKED = (
    *("ShareGroupDescribe", "DescribeShareGroupOffsets") * 4,
    *("AlterShareGroupOffsets", "DeleteShareGroupOffsets") * 2,
    *("ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "DeleteGroups", "OffsetFetch", "OffsetCommit"),
)
OTHERS = ("ConsumerGroupHeartbeat", "StreamsGroupHeartbeat", "JoinGroup")
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


@dataclass
class _Cast:
    """What stays the same through a sequence."""

    random: Random
    partitions: int
    topic_ids: tuple[str, ...]
    transacts: bool = False
    """Whether transactional producers write, too."""
    sequence: int = 0
    """Number of records in the open transaction; 0 without one."""


def shares(random: Random) -> list[Step]:
    """Let members join, fetch, acknowledge ranges, exceed locks, disconnect and leave; tools describe and alter."""
    cast = _Cast(random, random.choice((1, 1, 1, 2)), ("$topic_id",))
    steps = [topic("topic", cast.partitions, order="partitions")]
    if random.random() < 0.2:
        cast.topic_ids = ("$topic_id",) * 4 + ("$topic2_id",)
        steps.append(topic("topic2", 1))
    settings = {"share.auto.offset.reset": random.choice(("earliest",) * 6 + ("latest", "by_duration:PT24H"))}
    settings["share.record.lock.duration.ms"] = random.choice(("30000",) * 3 + (str(SHORT_LOCK_MS),))
    cast.transacts = random.random() < 0.25
    if random.random() < (0.5 if cast.transacts else 0.1):
        settings["share.isolation.level"] = "read_committed"
    if random.random() < 0.05:
        settings |= SHORT_SESSION
    steps.append(set_of_group(settings))
    if cast.transacts:
        asked = {"transactional_id": "$txn", "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
        steps.append(request("zoe", "InitProducerId", 5, asked))
    steps += random.choice(BEGINNINGS)(cast)
    for _ in range(random.randint(2, 14)):
        if cast.transacts and random.random() < 0.3:
            steps += _transacts(cast)
        steps += random.choice(TURNS)(cast, random.choice(PEOPLE))
    return steps


# Members


def _beat(cast: _Cast, person: str, **values: Value) -> Step:
    values = {"group_id": "$group", "member_id": f"{person}-member", "member_epoch": f"${person}_epoch"} | values
    return request(person, HEARTBEAT, 1, values)


def _wants(cast: _Cast) -> Value:
    return cast.random.choice((["$topic"],) * 6 + (["$topic", "$topic2"], ["$topic2"], [], ["$topicnone"]))


def _joins(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, member_epoch=0, subscribed_topic_names=_wants(cast))]


def _beats(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person)]


def _changes_its_mind(cast: _Cast, person: str) -> list[Step]:
    rack = cast.random.choice((None, None, "r1"))
    return [_beat(cast, person, subscribed_topic_names=_wants(cast), rack_id=rack)]


def _leaves(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, member_epoch=-1)]


def _has_an_odd_epoch(cast: _Cast, person: str) -> list[Step]:
    return [_beat(cast, person, member_epoch=cast.random.choice((0, 1, 2, 3, 99, -2, -3)))]


def _says_anything(cast: _Cast, person: str) -> list[Step]:
    return [make_version(HEARTBEAT, 1, cast.random, person)]


def _falls_silent(cast: _Cast, person: str) -> list[Step]:
    return [wait(SILENT_MS)] if cast.random.random() < 0.2 else []


# Records


def _write(cast: _Cast, batches: int = 1) -> list[Step]:
    steps = []
    for _ in range(batches):
        records = cast.random.choice(("batch(a)", "batch(a b)", "batch(a b c d)", "batch(k=v w)"))
        partition = {"index": cast.random.randrange(cast.partitions), "records": records}
        data = [{"name": "$topic", "partition_data": [partition]}]
        values = {"transactional_id": None, "acks": -1, "timeout_ms": 5_000, "topic_data": data}
        steps.append(request("zoe", "Produce", 9, values))
    return steps


def _writes(cast: _Cast, person: str) -> list[Step]:
    return _write(cast)


def _transacts(cast: _Cast) -> list[Step]:
    """Write in a transaction or end it; Kafka writes the markers after its response."""
    if cast.sequence and cast.random.random() < 0.5:
        cast.sequence = 0
        who = {"transactional_id": "$txn", "producer_id": "$pid", "producer_epoch": "$epoch"}
        ends = request("zoe", "EndTxn", 5, who | {"committed": cast.random.choice((True, False))})
        return [ends, wait(MARKER_MS)]
    records = f"batch(t u pid:$pid epoch:$epoch sequence:{cast.sequence} txn:1)"
    cast.sequence += 2
    data = [{"name": "$topic", "partition_data": [{"index": 0, "records": records}]}]
    values = {"transactional_id": "$txn", "acks": -1, "timeout_ms": 5_000, "topic_data": data}
    return [request("zoe", "Produce", 12, values)]


def _asking(cast: _Cast, person: str, api: str, values: Value) -> Step:
    """Build the request in some version, without fields that the version lacks."""
    version = cast.random.choice((2, 2, 2, 1))
    known = {field.name for field in shape_of(request_of(api, version)).fields}
    member: Value = {"group_id": "$group", "member_id": f"{person}-member"}
    values = member | {"share_session_epoch": f"${person}_session"} | values
    return request(person, api, version, {name: value for name, value in values.items() if name in known})


def _partitions(cast: _Cast, batches: Value = None) -> Value:
    numbers = list(range(cast.partitions)) if cast.random.random() < 0.8 else [cast.random.choice((0, 1, 9))]
    partitions = [{"partition_index": number, "acknowledgement_batches": batches or []} for number in numbers]
    return [{"topic_id": cast.random.choice(cast.topic_ids), "partitions": partitions}]


def _limits(cast: _Cast) -> Value:
    """Choose fetch limits; Kafka's byte counts over several partitions depend on earlier reads."""
    return {
        "max_wait_ms": cast.random.choice((0, 100, 100)),
        "min_bytes": cast.random.choice((1, 1, 1, 0)),
        "max_bytes": cast.random.choice((1_048_576, 1_048_576, 80 if cast.partitions == 1 else 1_048_576)),
        "max_records": cast.random.choice((500, 500, 500, 1, 2, 0)),
        "batch_size": cast.random.choice((500, 500, 500, 1, 2)),
        "share_acquire_mode": cast.random.choice((0, 0, 1)),
    }


def _opens(cast: _Cast, person: str) -> list[Step]:
    """Open a session and wait, since Kafka may learn of partitions later."""
    values = {"max_wait_ms": 100, "share_session_epoch": 0, "topics": _partitions(cast)}
    return [_asking(cast, person, "ShareFetch", _limits(cast) | values)]


def _fetches(cast: _Cast, person: str) -> list[Step]:
    return [_asking(cast, person, "ShareFetch", _limits(cast))]


def _fetches_others(cast: _Cast, person: str) -> list[Step]:
    forgotten = [{"topic_id": "$topic_id", "partitions": [cast.random.choice((0, 1))]}]
    values = {"topics": cast.random.choice(([], _partitions(cast))), "forgotten_topics_data": forgotten}
    return [_asking(cast, person, "ShareFetch", _limits(cast) | values)]


def _closes(cast: _Cast, person: str) -> list[Step]:
    api = cast.random.choice(("ShareFetch", "ShareAcknowledge"))
    values: Value = {"share_session_epoch": -1}
    if cast.random.random() < 0.3:
        values["topics"] = _partitions(cast, _batches(cast))
    return [_asking(cast, person, api, _limits(cast) | values)]


def _batches(cast: _Cast) -> Value:
    random = cast.random
    first = random.choice((0, 0, 0, 1, 2, 4))
    found = []
    for _ in range(random.choice((1, 1, 1, 2))):
        last = first + random.choice((0, 0, 1, 1, 3))
        kinds = [random.choice((ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, RENEW, 0))]
        if random.random() < 0.2:
            kinds = [random.choice((ACCEPT, RELEASE, REJECT, 0)) for _ in range(first, last + 1)]
        if random.random() < 0.06:
            kinds = random.choice(([], [ACCEPT, RELEASE], [9], [-1]))
        backwards = random.random() < 0.03
        ends = (last, first) if backwards else (first, last)
        found.append({"first_offset": ends[0], "last_offset": ends[1], "acknowledge_types": kinds})
        first = last + random.choice((1, 1, 1, 2, 0))
    return found


def _renews(batches: Value) -> bool:
    return any(RENEW in batch["acknowledge_types"] for batch in batches)


def _acknowledges(cast: _Cast, person: str) -> list[Step]:
    batches = _batches(cast)
    renews = _renews(batches) != (cast.random.random() < 0.05)
    values = {"topics": _partitions(cast, batches), "is_renew_ack": renews}
    return [_asking(cast, person, "ShareAcknowledge", values)]


def _fetches_with_acknowledgements(cast: _Cast, person: str) -> list[Step]:
    batches = _batches(cast)
    renews = _renews(batches) != (cast.random.random() < 0.05)
    values: Value = {"topics": _partitions(cast, batches), "is_renew_ack": renews}
    limits = _limits(cast)
    if renews and cast.random.random() < 0.8:
        limits = dict.fromkeys(limits, 0)
    return [_asking(cast, person, "ShareFetch", limits | values)]


def _has_an_odd_session(cast: _Cast, person: str) -> list[Step]:
    api = cast.random.choice(("ShareFetch", "ShareAcknowledge"))
    epoch = cast.random.choice((0, 1, 2, 3, 99, -1, -2, 2**31 - 1))
    values: Value = {"share_session_epoch": epoch}
    if cast.random.random() < 0.5:
        values["topics"] = _partitions(cast, cast.random.choice((None, _batches(cast))))
    values["member_id"] = cast.random.choice((f"{person}-member",) * 4 + ("", "a-stranger", None))
    return [_asking(cast, person, api, _limits(cast) | values)]


def _keeps_too_long(cast: _Cast, person: str) -> list[Step]:
    return [wait(LONGER_MS)] if cast.random.random() < 0.6 else []


def _disconnects(cast: _Cast, person: str) -> list[Step]:
    return [disconnect(person)]


# Tools


def _asks(cast: _Cast, person: str) -> list[Step]:
    return [make_request(cast.random.choice(ASKED), cast.random, "zoe")]


def _looks(cast: _Cast, person: str) -> list[Step]:
    asked = {"group_id": "$group", "topics": [{"topic_name": "$topic", "partitions": list(range(cast.partitions))}]}
    return [request("zoe", "DescribeShareGroupOffsets", 1, {"groups": [asked]})]


def _comes_as_somebody_else(cast: _Cast, person: str) -> list[Step]:
    return [make_request(cast.random.choice(OTHERS), cast.random, person, group_id="$group")]


def _topics_change(cast: _Cast, person: str) -> list[Step]:
    chance = cast.random.random()
    if chance < 0.4:
        cut = {"name": "$topic", "partitions": [{"partition_index": 0, "offset": cast.random.choice((1, 2, 3, -1))}]}
        return [request("zoe", "DeleteRecords", 2, {"topics": [cut], "timeout_ms": 10_000})]
    if chance < 0.6:
        grown = {"topics": [{"name": "$topic", "count": 3}], "timeout_ms": 10_000}
        return [request("zoe", "CreatePartitions", 3, grown)]
    if chance < 0.75:
        return [request("zoe", "DeleteTopics", 5, {"topic_names": ["$topic"], "timeout_ms": 10_000})]
    settings = cast.random.choice(
        (
            {"share.record.lock.duration.ms": "60000"},
            {"share.delivery.count.limit": cast.random.choice(("2", "5"))},
            {"share.partition.max.record.locks": "100"},
            {"share.auto.offset.reset": "latest"},
        )
    )
    return [set_of_group(settings)]


# Beginnings


def _nobody(cast: _Cast) -> list[Step]:
    return _write(cast)


def _one(cast: _Cast) -> list[Step]:
    joins = _beat(cast, "ada", member_epoch=0, subscribed_topic_names=["$topic"])
    return [joins, _beat(cast, "ada"), *_write(cast, cast.random.choice((1, 2, 3)))]


def _one_that_has_fetched(cast: _Cast) -> list[Step]:
    return [*_one(cast), *_opens(cast, "ada")]


def _two(cast: _Cast) -> list[Step]:
    joins = _beat(cast, "bob", member_epoch=0, subscribed_topic_names=["$topic"])
    return [*_one(cast), joins, _beat(cast, "ada"), *_opens(cast, "ada"), *_opens(cast, "bob")]


BEGINNINGS = (_nobody, _one, _one_that_has_fetched, _one_that_has_fetched, _one_that_has_fetched, _two, _two)
TURNS = (
    *(_opens, _fetches, _acknowledges, _writes) * 4,
    *(_fetches, _acknowledges, _fetches_with_acknowledgements, _looks) * 3,
    *(_joins, _beats, _asks, _keeps_too_long, _closes) * 2,
    *(_changes_its_mind, _leaves, _has_an_odd_epoch, _says_anything, _has_an_odd_session, _fetches_others),
    *(_falls_silent, _disconnects, _comes_as_somebody_else, _topics_change),
)
