"""Records of a coordinator as tests look at them: keys and values, and what compaction leaves of them."""

from __future__ import annotations

from collections.abc import Iterable

from kohort.protocol.batches import EncodedRecords

Record = tuple[bytes, bytes | None]


def keyed(records: EncodedRecords) -> list[Record]:
    """Keys and values. In the offsets topic every record has a key."""
    found: list[Record] = []
    for key, value in records:
        assert key is not None
        found.append((key, value))
    return found


def compacted(records: Iterable[Record]) -> list[Record]:
    """What a compacted log keeps: the last record of each key, in the order in which these were written."""
    last: dict[bytes, bytes | None] = {}
    for key, value in records:
        last.pop(key, None)
        last[key] = value
    return list(last.items())
