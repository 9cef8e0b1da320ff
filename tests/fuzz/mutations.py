"""Damages requests: bits, lengths, counts, order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

HUGE = (
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xfe",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff" * 6,
    b"\x00\xff\xff\xff",
    b"\x80\x80\x04",
)  # lengths and counts that exceed any request


LONGEST = 400_000  # maximum bytes of a damaged request


def mutate(random: Random, body: bytes) -> bytes:
    """Return `body` with one to three faults."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        body = random.choice(_FAULTS)(random, body)
    return body[:LONGEST]


def _flip(random: Random, body: bytes) -> bytes:
    if not body:
        return b"\x80"
    at = random.randrange(len(body))
    return body[:at] + bytes((body[at] ^ 1 << random.randrange(8),)) + body[at + 1 :]


def _another_byte(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body) + 1)
    return body[:at] + random.choice((b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80", b"\xff")) + body[at + 1 :]


def _truncate(random: Random, body: bytes) -> bytes:
    return body[: random.randrange(len(body) + 1)]


def _overlong(random: Random, body: bytes) -> bytes:
    """Encode a byte as a varint of two to six bytes."""
    at = random.randrange(len(body) + 1)
    byte = body[at : at + 1] or b"\x00"
    return body[:at] + bytes((byte[0] | 0x80,)) + b"\x80" * random.choice((0, 0, 1, 3, 4)) + b"\x00" + body[at + 1 :]


def _huge_instead(random: Random, body: bytes) -> bytes:
    huge, at = random.choice(HUGE), random.randrange(len(body) + 1)
    return body[:at] + huge + body[at + len(huge) :]


def _huge_between(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body) + 1)
    return body[:at] + random.choice(HUGE) + body[at:]


def _swap(random: Random, body: bytes) -> bytes:
    """Swap two ranges, so that lengths precede other data."""
    a, b, c, d = sorted(random.randrange(len(body) + 1) for _ in range(4))
    return body[:a] + body[c:d] + body[b:c] + body[a:b] + body[d:]


def _leave_out(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body) + 1)
    return body[:at] + body[at + random.choice((1, 1, 2, 4, 8)) :]


def _again(random: Random, body: bytes) -> bytes:
    a, b = sorted(random.randrange(len(body) + 1) for _ in range(2))
    return body[:b] + body[a:b] * random.choice((1, 1, 1, 2, 30)) + body[b:]


def _junk(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body) + 1)
    return body[:at] + random.randbytes(random.choice((1, 2, 5, 40))) + body[at:]


_FAULTS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _flip, _flip, _another_byte, _another_byte, _truncate, _overlong, _overlong, _huge_instead, _huge_between, _swap,
    _leave_out, _again, _junk,
)  # fmt: skip
