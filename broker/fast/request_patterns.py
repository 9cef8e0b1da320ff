"""Requests that a client repeats, recognized by their bytes without being parsed.

Heartbeats of a member differ only in their correlation ids, and after a rebalance in the generation or epoch; commits
of a consumer differ in the offsets. A repeated JoinGroup usually has the same content. Content with the same bytes as
an earlier request of the connection is the same request, and need not be checked and parsed again. A request that
differs in any other bit is parsed.

`NUMBERS_AT` lists these requests and the numbers in which they may differ.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from kohort.protocol.wire import read_unsigned_varint

LONGEST_BYTES: Final = 2_048  # longer requests are not cached; a commit of 100 partitions fits

KEY_AND_VERSION: Final = 4  # bytes of API key and version; the correlation id follows, which always differs

AFTER_CORRELATION_ID: Final = 8  # start of the part that is compared

GENERATION_BYTES: Final = 4
OFFSET_BYTES: Final = 8


class Numbers(NamedTuple):
    """The numbers in which requests may differ."""

    size: int  # bytes per number: GENERATION_BYTES, for a single one, or OFFSET_BYTES
    places: Sequence[int]  # their positions in the frame
    field: str = "generation_id"  # name of the generation in the request


# Returns the numbers in which a request may differ, or None if it has to be parsed each time. Its arguments are the
# version, a parsed frame, and the position of the body in it.
NumbersAt = Callable[[int, bytes, int], Numbers | None]

NO_NUMBERS: Final = Numbers(0, ())


class Pattern:
    """The common bytes of requests that differ only in offsets."""

    __slots__ = ("_mask", "_same", "_size", "_unpack")

    def __init__(self, content: bytes, places: Sequence[int]) -> None:
        self._size = len(content)
        self._mask, self._unpack = _layout(self._size, tuple(places))
        self._same = int.from_bytes(content, "little") & self._mask

    def numbers(self, content: bytes) -> tuple[int, ...] | None:
        """Return the numbers of a matching request in their order, or None if `content` does not match."""
        if len(content) != self._size or int.from_bytes(content, "little") & self._mask != self._same:
            return None  # one comparison of two large numbers is faster than many of the parts in between
        return self._unpack(content)


@lru_cache(maxsize=256)
def _layout(size: int, places: tuple[int, ...]) -> tuple[int, Callable[[bytes], tuple[int, ...]]]:
    """Return a mask of all bits except the numbers, and a function that reads the numbers.

    Equal requests share them.
    """
    layout, mask, end = [">"], bytearray(b"\xff" * size), 0
    for place in places:
        layout.append(f"{place - end}xq")
        end = place + OFFSET_BYTES
        mask[place:end] = bytes(OFFSET_BYTES)
    layout.append(f"{size - end}x")
    return int.from_bytes(mask, "little"), Struct("".join(layout)).unpack


def _no_numbers(version: int, frame: bytes, at: int) -> Numbers:
    return NO_NUMBERS


def _generation_of_heartbeat(version: int, frame: bytes, at: int) -> Numbers:
    after_string = _after_compact_string if version >= 4 else _after_string
    return Numbers(GENERATION_BYTES, (after_string(frame, at),))


def _generation_of_sync(version: int, frame: bytes, at: int) -> Numbers | None:
    """Return the position of the generation, or None with assignments, which always differ, or with tagged fields."""
    flexible = version >= 4
    after_string = _after_compact_string if flexible else _after_string
    place = after_string(frame, at)
    at = after_string(frame, place + GENERATION_BYTES)  # the member
    for since in (3, 5, 5):  # its instance id; protocol type and name
        if version >= since:
            at = after_string(frame, at)
    no_assignments = b"\x01\x00" if flexible else bytes(4)
    return Numbers(GENERATION_BYTES, (place,)) if frame[at:] == no_assignments else None


def _epoch_of_consumer_heartbeat(version: int, frame: bytes, at: int) -> Numbers | None:
    """Return the position of the epoch, or None if the heartbeat contains any other change, which is not repeated."""
    place = _after_compact_string(frame, _after_compact_string(frame, at))
    at = _after_compact_string(frame, place + GENERATION_BYTES)  # the instance id
    return Numbers(GENERATION_BYTES, (place,), "member_epoch") if frame[at:] == _NO_CHANGES[version] else None


# By version: null rack, timeout, topics, pattern (from v1 on), assignor, partitions; no tagged fields.
_NO_CHANGES: Final = tuple([b"\x00\xff\xff\xff\xff" + bytes(nulls) for nulls in (4, 5)])


def _epoch_of_streams_heartbeat(version: int, frame: bytes, at: int) -> Numbers | None:
    """Return the position of the epoch, or None if the heartbeat contains more than the epochs and an instance id."""
    place = _after_compact_string(frame, _after_compact_string(frame, at))
    at = _after_compact_string(frame, place + 2 * GENERATION_BYTES)  # the epoch of the endpoints, the instance id
    return Numbers(GENERATION_BYTES, (place,), "member_epoch") if frame[at:] == _ONLY_EPOCHS else None


# Null rack, timeout, topology, three roles of tasks, process, endpoint, tags, two lists of offsets; no shutdown, no
# tagged fields. Kafka Streams sends this unless its tasks have changed.
_ONLY_EPOCHS: Final = b"\x00\xff\xff\xff\xff\xff" + bytes(4) + b"\xff" + bytes(5)


def _offsets_of_commit(version: int, frame: bytes, at: int) -> Numbers | None:
    """Return the positions of the committed offsets, or None if there are tagged fields or extra bytes at the end.

    Consumers send neither. The bytes are read like kio and Kafka do.
    """
    flexible = version >= 8
    after_string = _after_compact_string if flexible else _after_string
    array = _compact_array if flexible else _array
    tags = 1 if flexible else 0
    at = after_string(frame, after_string(frame, at) + 4)  # group, generation, member
    if version >= 7:
        at = after_string(frame, at)
    if version <= 4:
        at += 8  # the retention time
    topics, at = array(frame, at)
    places = []
    for _ in range(topics):
        at = at + 16 if version >= 10 else after_string(frame, at)
        partitions, at = array(frame, at)
        for _ in range(partitions):
            places.append(at + 4)
            at = after_string(frame, at + (16 if version >= 6 else 12)) + tags
            if flexible and frame[at - 1]:
                return None
        at += tags
        if flexible and frame[at - 1]:
            return None
    at += tags
    return Numbers(OFFSET_BYTES, places) if at == len(frame) and not (flexible and frame[-1]) else None


def _after_string(frame: bytes, at: int) -> int:
    size = int.from_bytes(frame[at : at + 2], "big", signed=True)
    return at + 2 + max(size, 0)


def _after_compact_string(frame: bytes, at: int) -> int:
    size, at = read_unsigned_varint(frame, at)
    return at + max(size - 1, 0)


def _array(frame: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(frame[at : at + 4], "big", signed=True), at + 4


def _compact_array(frame: bytes, at: int) -> tuple[int, int]:
    size, at = read_unsigned_varint(frame, at)
    return size - 1, at


# Only requests of these APIs can repeat: others differ each time or are sent once.
NUMBERS_AT: Final[dict[str, NumbersAt]] = {
    "heartbeat": _generation_of_heartbeat,
    "offset_fetch": _no_numbers,
    "offset_commit": _offsets_of_commit,
    "join_group": _no_numbers,
    "sync_group": _generation_of_sync,
    "consumer_group_heartbeat": _epoch_of_consumer_heartbeat,
    "streams_group_heartbeat": _epoch_of_streams_heartbeat,
}
