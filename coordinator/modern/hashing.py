"""Hash of the topics that a group subscribes to (consumer-groups §13.1; KIP-1101).

It is stored with the group epoch. A different hash means that topics were created, deleted or expanded.
"""

from collections.abc import Collection, Iterable
from struct import Struct

from kohort.coordinator.topic_info import TopicInfo

_INT = Struct("<i")
_LONG = Struct("<q")
_MAGIC = b"\x00"


def group_hash(topics: Iterable[TopicInfo]) -> int:
    """Return the signed hash, or 0 without topics."""
    ordered = sorted(topics, key=lambda topic: topic.name)
    if not ordered:
        return 0
    return _hash(b"".join(_LONG.pack(topic_hash(topic)) for topic in ordered))


def topic_hash(topic: TopicInfo) -> int:
    parts = [_MAGIC, topic.topic_id.bytes[7::-1], topic.topic_id.bytes[:7:-1], _text(topic.name)]
    parts.append(_INT.pack(topic.partitions))
    if not topic.racks:
        parts.append(Struct(f"<{topic.partitions}i").pack(*range(topic.partitions)))
        return _hash(b"".join(parts))
    written: dict[Collection[str], bytes] = {}
    for partition, racks in enumerate(topic.racks[: topic.partitions]):
        if racks not in written:
            written[racks] = b"".join(_INT.pack(_units(rack)) + _text(rack) for rack in sorted(racks))
        parts += _INT.pack(partition), written[racks]
    return _hash(b"".join(parts))


def _text(text: str) -> bytes:
    return text.encode("utf-16-le") + _INT.pack(_units(text))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _hash(data: bytes) -> int:
    import xxhash  # imported on first use: most brokers have no such groups

    unsigned: int = xxhash.xxh3_64_intdigest(data)
    return unsigned - 2**64 if unsigned >= 2**63 else unsigned
