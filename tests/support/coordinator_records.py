"""Records of a coordinator as keys and values, and the result of their compaction."""

from __future__ import annotations

from collections.abc import Iterable

from kohort.protocol.batches import EncodedRecords

Record = tuple[bytes, bytes | None]


def keyed(records: EncodedRecords) -> list[Record]:
    """Return keys and values. Every record of the offsets topic has a key."""
    pairs: list[Record] = []
    for key, value in records:
        assert key is not None
        pairs.append((key, value))
    return pairs


def compacted(records: Iterable[Record]) -> list[Record]:
    """Return the records that compaction keeps: the last one of each key, in log order."""
    last: dict[bytes, bytes | None] = {}
    for key, value in records:
        last.pop(key, None)
        last[key] = value
    return list(last.items())
