"""Answers on their way to a client: addresses are replaced, and what lies around them passes as it comes.

Each class takes the bytes of one answer piece by piece, and gives what the client is to get: the length first, which is
not among the bytes that it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import INT, compact_string, string, unsigned_varint
from kohort.proxy.answer_layout import Layout, Walk
from kohort.proxy.relay_error import RelayError

HELD_BYTES: Final = 16 << 20
"""An answer is held until its last address has come: at most so many bytes of it."""

WHOLE_BYTES: Final = 64 << 20
"""An answer that a rule or a gate may take is held whole."""

STREAMED_FROM: Final = 64 << 10
"""A larger one with records is passed on as it comes."""

PADDING_TAG: Final = 16_000
"""A tagged field that nobody knows, and everybody skips (KIP-482). It is larger than any that Kafka has."""
_PADDING: Final = unsigned_varint(PADDING_TAG)
_LEAST_PADDING: Final = len(_PADDING) + 3

Cut = tuple[int, int, bytes]
"""A stretch of an answer, from and to, and what stands there instead."""

Pieces = list[bytes | bytearray | memoryview]


class Nodes(Protocol):
    """Where clients of the proxy reach the cluster's nodes."""

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        """The address here of a node whose own one an answer says."""
        ...

    def listed(self, node_ids: set[int]) -> None:
        """An answer has listed all nodes that the cluster has."""
        ...


class AnswerInHand(Protocol):
    """An answer that is looked at, as far as it has come."""

    def feed(self, data: memoryview) -> Pieces:
        """Takes what has come; gives what the client is to get now. Raises RelayError for what can't be read."""
        ...


class HeldAnswer:
    """Waits for all of an answer, and lets a function change it."""

    def __init__(self, size: int, change: Callable[[bytearray], bytes | bytearray]) -> None:
        if size > HELD_BYTES:
            raise RelayError(f"an answer of {size} bytes that was to be looked at; {HELD_BYTES} are held at most")
        self._size = size
        self._change = change
        self._data = bytearray()

    def feed(self, data: memoryview) -> Pieces:
        """See `AnswerInHand`."""
        self._data += data
        if len(self._data) < self._size:
            return []
        changed = self._change(self._data)
        return [INT.pack(len(changed)), changed]


class WholeAnswer:
    """Waits for all of an answer, lets another look at it first, and gives it to somebody else than the client."""

    def __init__(self, size: int, first: AnswerInHand | None, told: Callable[[bytes], None]) -> None:
        if size > WHOLE_BYTES:
            raise RelayError(f"an answer of {size} bytes that rules look at; they look at {WHOLE_BYTES} at most")
        self._size = size
        self._first = first
        self._told = told
        self._data = bytearray()

    def feed(self, data: memoryview) -> Pieces:
        """See `AnswerInHand`."""
        self._data += data
        if len(self._data) == self._size:
            whole = memoryview(bytes(self._data))
            pieces: Pieces = [INT.pack(self._size), whole] if self._first is None else self._first.feed(whole)
            self._told(b"".join(pieces))
        return []


class AddressedAnswer:
    """Held until all addresses in it are known; the rest passes."""

    def __init__(self, size: int, layout: Layout, nodes: Nodes) -> None:
        self._size = size
        self._layout = layout
        self._nodes = nodes
        self._walk = Walk()
        self._steps = layout.walk(self._walk)
        self._passes = False

    def feed(self, data: memoryview) -> Pieces:
        """See `AnswerInHand`."""
        if self._passes:
            return [data]
        walk = self._walk
        walk.data += data
        if _goes_on(self._steps, walk, self._size):
            if len(walk.data) > HELD_BYTES:
                raise RelayError(f"an answer whose addresses lie behind more than {HELD_BYTES} bytes")
            return []
        self._passes = True
        cuts = address_cuts(walk, self._layout, self._nodes)
        grown = sum(len(instead) - (end - start) for start, end, instead in cuts)
        return [INT.pack(self._size + grown), *_without(cuts, memoryview(walk.data), 0)]


class StreamedAnswer:
    """Passes records on as they come. Its length goes first, so what says addresses behind them must not change it.

    New addresses that are shorter are followed by a tagged field that nobody knows. If they are longer the answer says
    none: it says who leads, and clients ask where that is (KIP-951 only saves them the question).
    """

    def __init__(self, size: int, layout: Layout, nodes: Nodes) -> None:
        self._size = size
        self._layout = layout
        self._nodes = nodes
        self._walk = Walk()
        self._steps = layout.walk(self._walk)
        self._begun = False

    def feed(self, data: memoryview) -> Pieces:
        """See `AnswerInHand`."""
        walk = self._walk
        walk.data += data
        pieces: Pieces = [] if self._begun else [INT.pack(self._size)]
        self._begun = True
        goes_on = _goes_on(self._steps, walk, self._size)
        held_from = walk.at if walk.tail_at is None else walk.tail_at
        passed = min(max(held_from - walk.base, 0), len(walk.data))
        if passed:
            pieces.append(bytes(memoryview(walk.data)[:passed]))
            del walk.data[:passed]
            walk.base += passed
        if len(walk.data) > HELD_BYTES:
            raise RelayError(f"an answer with more than {HELD_BYTES} bytes of addresses")
        if not goes_on:
            pieces += _fitting(walk, self._layout, self._nodes)
        return pieces


def _goes_on(steps: object, walk: Walk, size: int) -> bool:
    """Walks as far as it gets. Whether more of the answer is needed."""
    try:
        next(steps)  # type: ignore[call-overload]
    except StopIteration:
        if walk.at > size:
            raise RelayError("an answer that ends too early") from None
        return False
    except (DecodeError, IndexError) as problem:
        raise RelayError(f"an answer that can't be read: {problem}") from None
    if walk.base + len(walk.data) >= size:
        raise RelayError("an answer that ends too early")
    return True


def address_cuts(walk: Walk, layout: Layout, nodes: Nodes) -> list[Cut]:
    """What is to stand in the place of addresses. The addresses of no node (-1) and of controllers stay."""
    if walk.endpoint_type != 1:
        return []
    write = compact_string if layout.flexible else string
    cuts: list[Cut] = []
    for each in walk.addresses:
        if each.node_id >= 0 and each.host:
            host, port = nodes.address(each.node_id, each.host, each.port)
            cuts.append((each.start, each.end, write(host) + INT.pack(port)))
    if layout.lists_all:
        nodes.listed({each.node_id for each in walk.addresses})
    return _with_size(walk, cuts)


def _with_size(walk: Walk, cuts: list[Cut]) -> list[Cut]:
    """Changes within a tagged field change its size."""
    tagged = walk.tagged_size
    if tagged is None or not cuts:
        return cuts
    grown = sum(len(instead) - (end - start) for start, end, instead in cuts)
    return [(tagged.start, tagged.end, unsigned_varint(tagged.value_end - tagged.end + grown)), *cuts]


def _without(cuts: list[Cut], data: memoryview, base: int) -> Pieces:
    """Data that begins at `base`, with its stretches replaced."""
    pieces: Pieces = []
    at = base
    for start, end, instead in cuts:
        pieces += data[at - base : start - base], instead
        at = end
    return [*pieces, data[at - base :]]


def _fitting(walk: Walk, layout: Layout, nodes: Nodes) -> Pieces:
    """The end of an answer with new addresses, in as many bytes as it had."""
    data = memoryview(walk.data)
    if not walk.addresses:
        return [data]
    assert walk.array is not None, "addresses in an answer with records are in a list"
    assert walk.tags_at is not None, "such answers have tagged fields"
    start, end = walk.array
    for cuts in (address_cuts(walk, layout, nodes), _with_size(walk, [(start, end, b"\x01")])):
        lacking = -sum(len(instead) - (end - start) for start, end, instead in cuts)
        if lacking == 0:
            return _without(cuts, data, walk.base)
        tags_start, tags_end, count = walk.tags_at
        more = unsigned_varint(count + 1)
        lacking -= len(more) - (tags_end - tags_start)
        if lacking >= _LEAST_PADDING:
            padded = sorted([*cuts, (tags_start, tags_end, more)])
            return [*_without(padded, data, walk.base), _padding(lacking)]
    raise RelayError("an answer whose addresses leave no room")


def _padding(size: int) -> bytes:
    """A tagged field of so many bytes, itself included."""
    value = bytes(size - _LEAST_PADDING)
    length = bytes((len(value) & 0x7F | 0x80, len(value) >> 7 & 0x7F | 0x80, len(value) >> 14))
    return _PADDING + length + value
