"""Responses on their way to a client: addresses are replaced, and everything around them passes unchanged.

Each class receives the bytes of one response piece by piece and returns what the client receives: first the length,
which is not among the bytes passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import INT, compact_string, string, unsigned_varint
from kohort.proxy.answer_layout import Layout, Walk
from kohort.proxy.relay_error import RelayError

HELD_BYTES: Final = 16 << 20
"""Most bytes of a response that are held until its last address has arrived."""

WHOLE_BYTES: Final = 64 << 20
"""Largest response that is held as a whole because a rule or a gate may apply to it."""

STREAMED_FROM: Final = 64 << 10  # a larger response with records is passed on as it arrives

PADDING_TAG: Final = 16_000
"""Unknown tagged field, which every client skips (KIP-482). The number is larger than any of Kafka's."""
_PADDING: Final = unsigned_varint(PADDING_TAG)
_MIN_PADDING: Final = len(_PADDING) + 3

Cut = tuple[int, int, bytes]  # start and end of a range of a response, and its replacement

Pieces = list[bytes | bytearray | memoryview]


class Nodes(Protocol):
    """Addresses at which clients of the proxy reach the nodes of the cluster."""

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        """Return the proxy's address for a node, given the node's own address in a response."""
        ...

    def listed(self, node_ids: set[int]) -> None:
        """Note that a response has listed all nodes of the cluster."""
        ...


class AnswerInHand(Protocol):
    """Response that is inspected while it arrives."""

    def feed(self, data: memoryview) -> Pieces:
        """Add received bytes and return what the client receives now.

        Raises:
            RelayError: The response can't be read.
        """
        ...


class HeldAnswer:
    """Response that is held until it is complete, and then changed by a function."""

    def __init__(self, size: int, change: Callable[[bytearray], bytes | bytearray]) -> None:
        if size > HELD_BYTES:
            raise RelayError(f"a response of {size} bytes that must be read exceeds the limit of {HELD_BYTES}")
        self._size = size
        self._change = change
        self._data = bytearray()

    def feed(self, data: memoryview) -> Pieces:
        self._data += data
        if len(self._data) < self._size:
            return []
        changed = self._change(self._data)
        return [INT.pack(len(changed)), changed]


class WholeAnswer:
    """Response that is held until it is complete, changed by another filter, and given to a callback."""

    def __init__(self, size: int, first: AnswerInHand | None, on_response: Callable[[bytes], None]) -> None:
        if size > WHOLE_BYTES:
            raise RelayError(f"a response of {size} bytes for a rule or gate exceeds the limit of {WHOLE_BYTES}")
        self._size = size
        self._first = first
        self._on_response = on_response
        self._data = bytearray()

    def feed(self, data: memoryview) -> Pieces:
        self._data += data
        if len(self._data) == self._size:
            whole = memoryview(bytes(self._data))
            pieces: Pieces = [INT.pack(self._size), whole] if self._first is None else self._first.feed(whole)
            self._on_response(b"".join(pieces))
        return []


class AddressedAnswer:
    """Response that is held until all its addresses are known; the rest passes."""

    def __init__(self, size: int, layout: Layout, nodes: Nodes) -> None:
        self._size = size
        self._layout = layout
        self._nodes = nodes
        self._walk = Walk()
        self._steps = layout.walk(self._walk)
        self._passes = False

    def feed(self, data: memoryview) -> Pieces:
        if self._passes:
            return [data]
        walk = self._walk
        walk.data += data
        if _advance(self._steps, walk, self._size):
            if len(walk.data) > HELD_BYTES:
                raise RelayError(f"a response with addresses after more than {HELD_BYTES} bytes")
            return []
        self._passes = True
        cuts = address_cuts(walk, self._layout, self._nodes)
        grown = sum(len(instead) - (end - start) for start, end, instead in cuts)
        return [INT.pack(self._size + grown), *_replace(cuts, memoryview(walk.data), 0)]


class StreamedAnswer:
    """Response whose records pass as they arrive. Its length goes first, so new addresses must not change it.

    Shorter addresses are followed by a padding field. If they are longer, the list of addresses becomes empty: the
    response still names the leader, and clients look its address up (KIP-951 only saves them this request).
    """

    def __init__(self, size: int, layout: Layout, nodes: Nodes) -> None:
        self._size = size
        self._layout = layout
        self._nodes = nodes
        self._walk = Walk()
        self._steps = layout.walk(self._walk)
        self._begun = False

    def feed(self, data: memoryview) -> Pieces:
        walk = self._walk
        walk.data += data
        pieces: Pieces = [] if self._begun else [INT.pack(self._size)]
        self._begun = True
        needs_more = _advance(self._steps, walk, self._size)
        held_from = walk.at if walk.tail_at is None else walk.tail_at
        passed = min(max(held_from - walk.base, 0), len(walk.data))
        if passed:
            pieces.append(bytes(memoryview(walk.data)[:passed]))
            del walk.data[:passed]
            walk.base += passed
        if len(walk.data) > HELD_BYTES:
            raise RelayError(f"a response with more than {HELD_BYTES} bytes of addresses")
        if not needs_more:
            pieces += _fitting(walk, self._layout, self._nodes)
        return pieces


def _advance(steps: object, walk: Walk, size: int) -> bool:
    """Advance the walk as far as possible. Return whether it needs more of the response."""
    try:
        next(steps)  # type: ignore[call-overload]
    except StopIteration:
        if walk.at > size:
            raise RelayError("a truncated response") from None
        return False
    except (DecodeError, IndexError) as problem:
        raise RelayError(f"unreadable response: {problem}") from None
    if walk.base + len(walk.data) >= size:
        raise RelayError("a truncated response")
    return True


def address_cuts(walk: Walk, layout: Layout, nodes: Nodes) -> list[Cut]:
    """Return the replacements of addresses. Those without a node (-1) and those of controllers stay."""
    if walk.endpoint_type != 1:
        return []
    write = compact_string if layout.flexible else string
    cuts: list[Cut] = []
    for address in walk.addresses:
        if address.node_id >= 0 and address.host:
            host, port = nodes.address(address.node_id, address.host, address.port)
            cuts.append((address.start, address.end, write(host) + INT.pack(port)))
    if layout.lists_all:
        nodes.listed({address.node_id for address in walk.addresses})
    return _with_size(walk, cuts)


def _with_size(walk: Walk, cuts: list[Cut]) -> list[Cut]:
    """Add a replacement for the size of the tagged field that contains the addresses."""
    tagged = walk.tagged_size
    if tagged is None or not cuts:
        return cuts
    grown = sum(len(instead) - (end - start) for start, end, instead in cuts)
    return [(tagged.start, tagged.end, unsigned_varint(tagged.value_end - tagged.end + grown)), *cuts]


def _replace(cuts: list[Cut], data: memoryview, base: int) -> Pieces:
    """Return data that begins at `base`, with the replacements applied."""
    pieces: Pieces = []
    at = base
    for start, end, instead in cuts:
        pieces += data[at - base : start - base], instead
        at = end
    return [*pieces, data[at - base :]]


def _fitting(walk: Walk, layout: Layout, nodes: Nodes) -> Pieces:
    """Return the end of a response with new addresses, of the same size as before."""
    data = memoryview(walk.data)
    if not walk.addresses:
        return [data]
    assert walk.array is not None, "addresses in a response with records are in a list"
    assert walk.tags_at is not None, "such responses have tagged fields"
    start, end = walk.array
    for cuts in (address_cuts(walk, layout, nodes), _with_size(walk, [(start, end, b"\x01")])):
        lacking = -sum(len(instead) - (end - start) for start, end, instead in cuts)
        if lacking == 0:
            return _replace(cuts, data, walk.base)
        tags_start, tags_end, count = walk.tags_at
        more = unsigned_varint(count + 1)
        lacking -= len(more) - (tags_end - tags_start)
        if lacking >= _MIN_PADDING:
            padded = sorted([*cuts, (tags_start, tags_end, more)])
            return [*_replace(padded, data, walk.base), _padding(lacking)]
    raise RelayError("a response without room for the new addresses")


def _padding(size: int) -> bytes:
    """Return a tagged field of `size` bytes in total."""
    value = bytes(size - _MIN_PADDING)
    length = bytes((len(value) & 0x7F | 0x80, len(value) >> 7 & 0x7F | 0x80, len(value) >> 14))
    return _PADDING + length + value
