"""Defaults and short forms of requests of share groups. README.md in this folder lists them."""

from __future__ import annotations

from tests.talk.compare import Names
from tests.talk.values import Value, topic_id

HEARTBEAT, DESCRIBE = "ShareGroupHeartbeat", "ShareGroupDescribe"
WORDS = {"epoch": "member_epoch", "topics": "subscribed_topic_names", "rack": "rack_id"}
DESCRIBED_MEMBER = {"rack_id": None, "client_host": "/127.0.0.1"}


def heartbeat(values: Value, names: Names, person: str, words: dict[str, str] = WORDS) -> Value:
    """Return a heartbeat of any type with the last received epoch; a new member has 0. `words` are short names."""
    values = {words.get(word, word): value for word, value in values.items()}
    values.setdefault("group_id", "$group")
    values.setdefault("member_id", names.setdefault(person, f"{person}-member"))
    values.setdefault("member_epoch", names.get(f"{person}_epoch", 0))
    return values


FETCH, ACKNOWLEDGE = "ShareFetch", "ShareAcknowledge"
TYPES = {"gap": 0, "accept": 1, "release": 2, "reject": 3, "renew": 4}


def in_session(values: Value, names: Names, person: str) -> Value:
    """Complete a fetch or an acknowledgement: partitions, acknowledgements, forgotten topics."""
    values = dict(values)
    values.setdefault("group_id", "$group")
    values.setdefault("member_id", names.setdefault(person, f"{person}-member"))
    if "epoch" in values:
        values["share_session_epoch"] = values.pop("epoch")
    partitions: Value = {(topic, int(index)): [] for topic, asked in values.pop("from", {}).items() for index in asked}
    for topic, said in values.pop("acks", {}).items():
        for index, batches in said.items():
            partitions[topic, int(index)] = [_batch(str(offsets), kinds) for offsets, kinds in batches.items()]
    if partitions:
        values["topics"] = _by_topic(partitions, names)
    if "forgets" in values:
        forgotten = values.pop("forgets").items()
        values["forgotten_topics_data"] = [
            {"topic_id": topic_id(topic, names), "partitions": indexes} for topic, indexes in forgotten
        ]
    return values


def _by_topic(partitions: Value, names: Names) -> list[Value]:
    topics: dict[str, list[Value]] = {}
    for (topic, index), batches in partitions.items():
        part = {"partition_index": index, "acknowledgement_batches": batches}
        topics.setdefault(topic_id(topic, names), []).append(part)
    return [{"topic_id": topic, "partitions": parts} for topic, parts in topics.items()]


def _batch(offsets: str, kinds: Value) -> Value:
    first, _, last = offsets.partition("-")
    types = [TYPES.get(kind, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])]
    return {"first_offset": int(first), "last_offset": int(last or first), "acknowledge_types": types}
