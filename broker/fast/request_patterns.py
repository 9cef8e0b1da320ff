"""Requests that a client sends again and again: recognised by their bytes, without being read.

A member's heartbeats differ in their correlation ids only, and after a rebalance in the generation, or epoch; a
consumer's commits differ in the offsets. Who joins again mostly says the same as before. Whatever is the same bytes as
an earlier request of its connection is the same request, and need not be looked over and read once more. A request that
differs in anything else, by one bit, is read.

`NUMBERS_AT` says which requests these are, and what may differ in them.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from kohort.protocol.wire import read_unsigned_varint

LONGEST_BYTES: Final = 2_048
"""Longer requests are not remembered: a commit of 100 partitions fits."""

KEY_AND_VERSION: Final = 4
"""The bytes in which a request says what it is. Its correlation id follows, which is always another."""

AFTER_CORRELATION_ID: Final = 8
"""Where a request begins to say what it wants."""

GENERATION_BYTES: Final = 4
OFFSET_BYTES: Final = 8


class Numbers(NamedTuple):
    """What may differ in a request."""

    size: int
    """How many bytes each number has: those of a generation, of which there is one, or of an offset."""
    places: Sequence[int]
    """Where in the frame they begin."""
    field: str = "generation_id"
    """What the request calls its generation."""


NumbersAt = Callable[[int, bytes, int], Numbers | None]
"""Finds the numbers in a request that may differ. None: it is to be read each time.

Gets the version, a frame that has been read, and where the body begins in it.
"""

NO_NUMBERS: Final = Numbers(0, ())


class Pattern:
    """What requests have in common that differ in some offsets only."""

    __slots__ = ("_mask", "_same", "_size", "_unpack")

    def __init__(self, content: bytes, places: Sequence[int]) -> None:
        """`content`: one of these requests, from some byte on. `places`: where in it the numbers begin."""
        self._size = len(content)
        self._mask, self._unpack = _layout(self._size, tuple(places))
        self._same = int.from_bytes(content, "little") & self._mask

    def numbers(self, content: bytes) -> tuple[int, ...] | None:
        """The numbers of such a request, in their order; None: `content` is of another one."""
        if len(content) != self._size or int.from_bytes(content, "little") & self._mask != self._same:
            return None  # one comparison of two large numbers: the stretches in between would be many
        return self._unpack(content)


@lru_cache(maxsize=256)
def _layout(size: int, places: tuple[int, ...]) -> tuple[int, Callable[[bytes], tuple[int, ...]]]:
    """All bits but those of the numbers, and what reads the numbers. Members of one application share them."""
    layout, mask, end = [">"], bytearray(b"\xff" * size), 0
    for place in places:
        layout.append(f"{place - end}xq")
        end = place + OFFSET_BYTES
        mask[place:end] = bytes(OFFSET_BYTES)
    layout.append(f"{size - end}x")
    return int.from_bytes(mask, "little"), Struct("".join(layout)).unpack


def _nothing(version: int, frame: bytes, at: int) -> Numbers:
    return NO_NUMBERS


def _generation_of_heartbeat(version: int, frame: bytes, at: int) -> Numbers:
    """It comes behind the group."""
    after_string = _after_compact_string if version >= 4 else _after_string
    return Numbers(GENERATION_BYTES, (after_string(frame, at),))


def _generation_of_sync(version: int, frame: bytes, at: int) -> Numbers | None:
    """It comes behind the group. Gives up at assignments: a leader's are others each time. Also at tagged fields."""
    flexible = version >= 4
    after_string = _after_compact_string if flexible else _after_string
    place = after_string(frame, at)
    at = after_string(frame, place + GENERATION_BYTES)  # the member
    for since in (3, 5, 5):  # its instance id; protocol type and name
        if version >= since:
            at = after_string(frame, at)
    nobody = b"\x01\x00" if flexible else bytes(4)
    return Numbers(GENERATION_BYTES, (place,)) if frame[at:] == nobody else None


def _epoch_of_consumer_heartbeat(version: int, frame: bytes, at: int) -> Numbers | None:
    """It comes behind group and member. Gives up at whatever a member says beside who it is: that comes once."""
    place = _after_compact_string(frame, _after_compact_string(frame, at))
    at = _after_compact_string(frame, place + GENERATION_BYTES)  # the instance id
    return Numbers(GENERATION_BYTES, (place,), "member_epoch") if frame[at:] == _SAYS_NOTHING[version] else None


_SAYS_NOTHING: Final = tuple([b"\x00\xff\xff\xff\xff" + bytes(nulls) for nulls in (4, 5)])
"""By version: neither rack nor timeout, topics, pattern (from v1 on), assignor, partitions, tagged fields."""


def _offsets_of_commit(version: int, frame: bytes, at: int) -> Numbers | None:
    """Where the committed offset of each partition is.

    Goes along the bytes as kio and Kafka do. Gives up at what consumers don't send: tagged fields, and bytes behind the
    end.
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


NUMBERS_AT: Final[dict[str, NumbersAt]] = {
    "heartbeat": _generation_of_heartbeat,
    "offset_fetch": _nothing,
    "offset_commit": _offsets_of_commit,
    "join_group": _nothing,
    "sync_group": _generation_of_sync,
    "consumer_group_heartbeat": _epoch_of_consumer_heartbeat,
}
"""The APIs whose requests may come again. In the others something differs each time, or they come once."""
