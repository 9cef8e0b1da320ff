"""Batches that a producer should not send, or hardly ever does, and what Kafka 4.3.0 said to each.

`CASES` builds them. `odd_batches.json` has the responses, as `python -m tests.storage.record_odd_batches` has
recorded them.
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from struct import pack, unpack_from
from typing import Any

import cramjam
from google_crc32c import value as crc32c

from kohort.protocol.batches import read_batches
from tests.support.batches import varint

ANSWERS = Path(__file__).with_name("odd_batches.json")

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
INT_MAX = 2**31 - 1
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "strict": {"message.timestamp.before.max.ms": str(HOUR_MS)},
    "small": {"max.message.bytes": "100"},
}
"""The topics that batches are sent to, by name, and their settings."""


@dataclass(frozen=True)
class Case:
    """One batch, or several, for one partition. `records` makes the bytes, given the time."""

    records: Callable[[int], bytes | None]
    topic: str = "plain"
    version: int = 11
    acks: int = -1


def record(
    delta: int = 0,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    time: int | bytes = 0,
    attributes: int = 0,
    headers: bytes = b"\0",
    size_off_by: int = 0,
    delta_bytes: bytes | None = None,
    key_size: bytes | None = None,
    value_size: bytes | None = None,
    size: bytes | None = None,
) -> bytes:
    """Encode a record, with the given `..._bytes` and sizes instead of the right ones."""
    time_bytes = time if isinstance(time, bytes) else varint(time)
    body = pack("b", attributes) + time_bytes + (varint(delta) if delta_bytes is None else delta_bytes)
    for part, given in ((key, key_size), (value, value_size)):
        right = varint(-1) if part is None else varint(len(part))
        body += (right if given is None else given) + (part or b"")
    body += headers
    return (varint(len(body) + size_off_by) if size is None else size) + body


def header(name: bytes | None, value: bytes | None) -> bytes:
    return b"".join(varint(-1) if part is None else varint(len(part)) + part for part in (name, value))


def batch(
    body: bytes,
    *,
    now: int,
    count: int = 1,
    delta: int | None = None,
    attributes: int = 0,
    base: int = 0,
    first: int | None = None,
    latest: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    magic: int = 2,
    crc_off_by: int = 0,
    length_off_by: int = 0,
) -> bytes:
    """Encode a batch around a body. `first` and `latest` are its timestamps, which default to `now`."""
    times = now if first is None else first, now if latest is None else latest
    covered = pack(">hiqqqhii", attributes, count - 1 if delta is None else delta, *times, *producer, count) + body
    length = len(covered) + 9 + length_off_by
    return pack(">qiibI", base, length, -1, magic, crc32c(covered) ^ crc_off_by) + covered


def three(**more: Any) -> bytes:
    return b"".join(record(delta, **more) for delta in range(3))


def gz(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def snappy(body: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(body))


def xerial(body: bytes) -> bytes:
    """Encode a stream like Java's snappy."""
    block = snappy(body)
    return b"\x82SNAPPY\0" + pack(">ii", 1, 1) + pack(">i", len(block)) + block


def lz4(body: bytes, flags: int = 0x60, checksum: int = 0x82) -> bytes:
    """Encode a frame of independent blocks, the only type that Kafka reads."""
    block = bytes(cramjam.lz4.compress_block(body, store_size=False)) if body else b""
    head = b"\x04\x22\x4d\x18" + bytes((flags, 0x40, checksum))
    return head + (pack("<I", len(block)) + block if body else b"") + bytes(4)


def dependent_lz4(body: bytes) -> bytes:
    """Encode a frame whose blocks depend on earlier ones."""
    return bytes(cramjam.lz4.compress(body))


def zstd(body: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(body))


def _body(body: bytes, count: int = 1, **more: Any) -> Callable[[int], bytes]:
    return lambda now: batch(body, now=now, count=count, **more)


def _of(make: Callable[[int], bytes | None], **more: Any) -> Case:
    return Case(make, **more)


def _headers() -> dict[str, Callable[[int], bytes | None]]:
    good = record()
    return {
        "nothing at all": lambda now: None,
        "no bytes": lambda now: b"",
        "three bytes": lambda now: b"abc",
        "40 zeros": lambda now: bytes(40),
        "a length below the least": lambda now: bytes(8) + pack(">i", 13) + bytes(60),
        "a negative length": lambda now: bytes(8) + pack(">i", -1) + bytes(60),
        "a length beyond the end": lambda now: bytes(8) + pack(">i", INT_MAX) + bytes(60),
        "cut short by a byte": lambda now: batch(good, now=now)[:-1],
        "a length that is one too large": _body(good, length_off_by=1),
        "a length that is one too small": _body(good, length_off_by=-1),
        "a few bytes behind it": lambda now: batch(good, now=now) + b"\0\0\0",
        "twenty zeros behind it": lambda now: batch(good, now=now) + bytes(20),
        "two batches": lambda now: batch(good, now=now) * 2,
        "a header that is cut short": lambda now: bytes(8) + pack(">iib", 20, -1, 2) + bytes(40),
        "magic 0": _body(good, magic=0),
        "magic 1": _body(good, magic=1),
        "magic 3": _body(good, magic=3),
        "magic -1": _body(good, magic=-1),
        "a wrong checksum": _body(good, crc_off_by=1),
        "a base offset of 5": _body(good, base=5),
        "a base offset of -1": _body(good, base=-1),
        "no records": _body(b"", count=0),
        "no records but an offset": _body(b"", count=0, delta=0),
        "an empty body that declares one record": _body(b""),
        "a count of two": _body(good, count=2, delta=0),
        "a count of two and the offsets to it": _body(good, count=2),
        "a count of one before three records": _body(three(), count=1),
        "a negative count": _body(good, count=-1),
        "a last offset delta of five": _body(good, delta=5),
        "a last offset delta of -1": _body(good, delta=-1),
        "a last offset delta of 2^31-1": _body(good, delta=INT_MAX),
        "2^31-1 records": _body(good, count=INT_MAX),
        "2^31-1 records and a last offset delta to it": _body(good, count=INT_MAX, delta=INT_MAX - 1),
        "control": _body(record(key=b"\0\0\0\1", value=bytes(6)), attributes=0x20),
        "control of a transaction": _body(
            record(key=b"\0\0\0\1", value=bytes(6)), attributes=0x30, producer=(77, 0, 0)
        ),
        "transactional": _body(good, attributes=0x10, producer=(77, 0, 0)),
        "transactional without a producer": _body(good, attributes=0x10),
        "a delete horizon": _body(good, attributes=0x40),
        "LogAppendTime by the producer": _body(good, attributes=0x08),
        "an unknown attribute": _body(good, attributes=0x80),
        "high attributes": _body(good, attributes=0x4000),
        "a producer without a sequence": _body(good, producer=(5, 0, -1)),
        "a producer without an epoch": _body(good, producer=(6, -1, 0)),
        "an epoch without a producer": _body(good, producer=(-1, 3, 0)),
        "a sequence without a producer": _body(good, producer=(-1, -1, 3)),
        "a producer of -2": _body(good, producer=(-2, 0, 0)),
        "a sequence at the end of its range": _body(three(), count=3, producer=(8, 0, INT_MAX)),
        "a first sequence of five": _body(good, producer=(9, 0, 5)),
    }


def _bodies() -> dict[str, Callable[[int], bytes | None]]:
    bad_utf8 = b"\2" + header(b"\xff\xfe", b"v")
    return {
        "proper": _body(three(), count=3),
        "proper, with headers": _body(record(headers=b"\4" + header(b"h", b"v") + header(b"g", None))),
        "zeros": _body(bytes(30)),
        "ff": _body(b"\xff" * 30),
        "garbage": _body(bytes(range(60, 120))),
        "text": _body(b"the quick brown fox jumps over the lazy dog"),
        "a record that is one too long": _body(record(size_off_by=1)),
        "a record that is one too short": _body(record(size_off_by=-1)),
        "a record that is one too short before another": _body(record(size_off_by=-1) + record(1), count=2),
        "a record of no bytes": _body(b"\0"),
        "a record of a negative size": _body(b"\1" + record()),
        "a record of 2^31-1 bytes": _body(record(size=varint(INT_MAX))),
        "a size of six bytes": _body(record(size=b"\x94\x80\x80\x80\x80\x00")),
        "an overlong size": _body(record(size=b"\x90\x80\x80\x80\x00")),
        "bytes behind the last record": _body(record() + b"\0"),
        "a record cut short": _body(record()[:-2]),
        "a null key": _body(record(key=None)),
        "a null value": _body(record(value=None)),
        "a key of size -2": _body(record(key=None, key_size=varint(-2))),
        "a value of size -2": _body(record(value=None, value_size=varint(-2))),
        "a key that is longer than its record": _body(record(key_size=varint(100))),
        "a value that is longer than its record": _body(record(value_size=varint(100))),
        "a value that reaches into the next record": _body(record(value_size=varint(5)) + record(1), count=2),
        "a key of 2^31-1 bytes": _body(record(key_size=varint(INT_MAX))),
        "-1 headers": _body(record(headers=b"\1")),
        "a hundred headers that are not there": _body(record(headers=varint(100))),
        "2^31-1 headers": _body(record(headers=varint(INT_MAX))),
        "a null header key": _body(record(headers=b"\2" + header(None, b"v"))),
        "a null header key in the third record": _body(
            record(0) + record(1) + record(2, headers=b"\2" + header(None, b"v")), count=3
        ),
        "a header key of size -2": _body(record(headers=b"\2\3\2v")),
        "a header value of size -2": _body(record(headers=b"\2\2h\3")),
        "a header key that is not UTF-8": _body(record(headers=bad_utf8)),
        "a header that is cut short": _body(record(headers=b"\2\x14h")),
        "attributes in a record": _body(record(attributes=1)),
        "a time of ten bytes": _body(record(time=b"\x80" * 9 + b"\0")),
        "a time of eleven bytes": _body(record(time=b"\x80" * 10 + b"\0")),
        "an offset delta of six bytes": _body(record(delta_bytes=b"\x80" * 5 + b"\0")),
        "an overlong offset delta": _body(record(delta_bytes=b"\x80\x80\x80\x80\0")),
        "offsets from one on": _body(record(1) + record(2), count=2),
        "the same offset twice": _body(record(0) + record(0), count=2),
        "offsets backwards": _body(record(1) + record(0), count=2),
        "a negative offset delta": _body(record(-1)),
        "an offset delta of 2^31-1": _body(record(INT_MAX)),
        "a garbage record behind a good one": _body(record() + b"\x14" + b"\xff" * 10, count=2),
    }


def _times() -> dict[str, Callable[[int], bytes | None]]:
    good = record()
    return {
        "a day ahead": lambda now: batch(good, now=now + DAY_MS),
        "a day ahead by its delta": _body(record(time=DAY_MS)),
        "a day ahead by its delta, and so the header": lambda now: batch(
            record(time=DAY_MS), now=now, latest=now + DAY_MS
        ),
        "a day ahead only by the header": lambda now: batch(good, now=now, latest=now + DAY_MS),
        "two of three a day ahead": _body(record(0) + record(1, time=DAY_MS) + record(2, time=2 * DAY_MS), count=3),
        "four of five a day ahead": _body(record(0) + b"".join(record(n, time=DAY_MS) for n in range(1, 5)), count=5),
        "a day ago": lambda now: batch(good, now=now - DAY_MS),
        "a day ago by its delta": _body(record(time=-DAY_MS)),
        "without a time": lambda now: batch(good, now=-1),
        "a time of -2": lambda now: batch(good, now=-2),
        "the first time there is": lambda now: batch(good, now=0),
        "the last time there is": lambda now: batch(good, now=2**63 - 1),
        "the least time there is": lambda now: batch(good, now=-(2**63)),
        "a time of -2^62": lambda now: batch(good, now=-(2**62)),
        "times around a latest one": lambda now: batch(
            record(0, time=-50) + record(1, time=70_000) + record(2, time=-180_000), now=now, count=3
        ),
        "a time beyond the last": lambda now: batch(record(time=2**62), now=2**63 - 1),
        "a latest time below its records'": lambda now: batch(three(time=50), now=now, count=3, latest=now - 1000),
        "a latest time above its records'": lambda now: batch(three(), now=now, count=3, latest=now + 1000),
        "a latest time of -1": lambda now: batch(good, now=now, latest=-1),
    }


def _compressed() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for name, number, pack_it in (
        ("gzip", GZIP, gz),
        ("snappy", SNAPPY, snappy),
        ("xerial", SNAPPY, xerial),
        ("lz4", LZ4, lz4),
        ("zstd", ZSTD, zstd),
    ):
        squeezed = {
            f"{name}": _body(pack_it(three()), count=3, attributes=number),
            f"{name}, a count of two before three records": _body(pack_it(three()), count=2, attributes=number),
            f"{name}, a count of four before three records": _body(pack_it(three()), count=4, attributes=number),
            f"{name} that is invalid": _body(three(), count=3, attributes=number),
            f"{name} of random bytes": _body(bytes(range(200, 256)), count=3, attributes=number),
            f"{name} of no bytes": _body(b"", count=1, attributes=number),
            f"{name}, cut short": _body(pack_it(three())[:-9], count=3, attributes=number),
            f"{name}, and bytes behind it": _body(pack_it(three()) + b"abcd", count=3, attributes=number),
            f"{name} of garbage": _body(pack_it(b"\xff" * 3_000), count=3, attributes=number),
            f"{name} of nothing": _body(pack_it(b""), count=1, attributes=number),
            f"{name} of nothing, no records": _body(pack_it(b""), count=0, attributes=number),
            f"{name}, offsets from one on": _body(pack_it(record(1) + record(2)), count=2, attributes=number),
        }
        cases |= {key: _of(make) for key, make in squeezed.items()}
    gzipped = {
        "a null header key": record(headers=b"\2" + header(None, b"v")),
        "a record that is one too long": record(size_off_by=1),
        "a record that is one too short": record(size_off_by=-1),
        "a record of a negative size": b"\1" + record(),
        "a size of six bytes": record(size=b"\x94\x80\x80\x80\x80\x00"),
        "a key of size -2": record(key=None, key_size=varint(-2)),
        "a key that is longer than its record": record(key_size=varint(100)),
        "a value that is longer than its record": record(value_size=varint(4), value=b"v"),
        "-1 headers": record(headers=b"\1"),
        "attributes in a record": record(attributes=1),
        "a time of eleven bytes": record(time=b"\x80" * 10 + b"\0"),
        "a day ahead by its delta": record(time=DAY_MS),
        "the time of its first record above the header's": record(time=50),
    }
    cases |= {f"gzip, {key}": _of(_body(gz(body), attributes=GZIP)) for key, body in gzipped.items()}
    cases |= {f"codec {number}": _of(_body(record(), attributes=number)) for number in (5, 6, 7)}
    cases |= {
        "two members of gzip": _of(_body(gz(record(0)) + gz(record(1)), count=2, attributes=GZIP)),
        "two frames of zstd": _of(_body(zstd(record(0)) + zstd(record(1)), count=2, attributes=ZSTD)),
        "two frames of lz4": _of(_body(lz4(record(0)) + lz4(record(1)), count=2, attributes=LZ4)),
        "lz4 with dependent blocks": _of(_body(dependent_lz4(three()), count=3, attributes=LZ4)),
        "lz4 with a wrong checksum of its header": _of(_body(lz4(three(), checksum=0x83), count=3, attributes=LZ4)),
        "lz4 without its end": _of(_body(lz4(three())[:-4], count=3, attributes=LZ4)),
        "deflate without a header": _of(_body(zlib.compress(three()), count=3, attributes=GZIP)),
        "zstd before version 7": _of(_body(zstd(three()), count=3, attributes=ZSTD), version=6),
        "zstd in version 7": _of(_body(zstd(three()), count=3, attributes=ZSTD), version=7),
        "no zstd before version 7": _of(_body(three(), count=3, attributes=ZSTD), version=6),
    }
    return cases


def _elsewhere() -> dict[str, Case]:
    """Return cases that depend on the topic or on other parts of the request."""
    keyless = record(0) + record(1, key=None) + record(2, key=None)
    many = record(0) + b"".join(record(n, key=None) for n in range(1, 6))
    mixed = record(0, time=DAY_MS) + record(1, key=None) + record(2, key=None, time=DAY_MS) + record(3)
    large = record(value=bytes(200))
    return {
        "compacted: a key": _of(_body(record()), topic="compacted"),
        "compacted: two of three without a key": _of(_body(keyless, count=3), topic="compacted"),
        "compacted: five without a key": _of(_body(many, count=6), topic="compacted"),
        "compacted: without a key and a day ahead": _of(_body(mixed, count=4), topic="compacted"),
        "compacted: gzip, two of three without a key": _of(
            _body(gz(keyless), count=3, attributes=GZIP), topic="compacted"
        ),
        "compacted: ff in gzip": _of(_body(gz(b"\xff" * 3_000), attributes=GZIP), topic="compacted"),
        "compacted: codec 5": _of(_body(record(), attributes=5), topic="compacted"),
        "compacted: an empty key": _of(_body(record(key=b"")), topic="compacted"),
        "compacted: a key of size -2": _of(_body(record(key=None, key_size=varint(-2))), topic="compacted"),
        "stamped: proper": _of(_body(three(), count=3), topic="stamped"),
        "stamped: a day ahead": _of(lambda now: batch(record(), now=now + DAY_MS), topic="stamped"),
        "stamped: a day ahead by its delta": _of(_body(record(time=DAY_MS)), topic="stamped"),
        "stamped: LogAppendTime by the producer": _of(_body(record(), attributes=0x08), topic="stamped"),
        "stamped: LogAppendTime by the producer, without key and value": _of(
            _body(record(key=None, value=None), attributes=0x08), topic="stamped"
        ),
        "stamped: LogAppendTime by the producer, gzip": _of(_body(gz(record()), attributes=0x09), topic="stamped"),
        "stamped: LogAppendTime by the producer, gzip, without key and value": _of(
            _body(gz(record(key=None, value=None)), attributes=0x09), topic="stamped"
        ),
        "LogAppendTime by the producer, a day ahead": _of(
            lambda now: batch(record(), now=now, latest=now + DAY_MS, attributes=0x08)
        ),
        "LogAppendTime and more by the producer": _of(_body(record(), attributes=0x4088)),
        "gzip, LogAppendTime by the producer": _of(_body(gz(record()), attributes=0x09)),
        "gzip, two of three a day ahead": _of(
            _body(gz(record(0) + record(1, time=DAY_MS) + record(2, time=DAY_MS)), count=3, attributes=GZIP)
        ),
        "gzip, offsets from one on and a day ahead": _of(_body(gz(record(1, time=DAY_MS)), attributes=GZIP)),
        "stamped: gzip": _of(_body(gz(three()), count=3, attributes=GZIP), topic="stamped"),
        "strict: a day ago": _of(lambda now: batch(record(), now=now - DAY_MS), topic="strict"),
        "strict: a day ago by its delta": _of(_body(record(time=-DAY_MS)), topic="strict"),
        "strict: without a time": _of(lambda now: batch(record(), now=-1), topic="strict"),
        "strict: a time of -2": _of(lambda now: batch(record(), now=-2), topic="strict"),
        "small: a large record": _of(_body(large), topic="small"),
        "small: a large record with a wrong checksum": _of(_body(large, crc_off_by=1), topic="small"),
        "small: a large record at a base offset": _of(_body(large, base=7), topic="small"),
        "small: a large record in a few bytes": _of(_body(gz(large), attributes=GZIP), topic="small"),
        "acks of 2": _of(_body(record()), acks=2),
        "acks of -2": _of(_body(record()), acks=-2),
        "acks of 2 and a wrong checksum": _of(_body(record(), crc_off_by=1), acks=2),
        "acks of 2 and two batches": _of(lambda now: batch(record(), now=now) * 2, acks=2),
    }


def _all() -> dict[str, Case]:
    singles = _headers() | _bodies() | _times()
    return {name: _of(make) for name, make in singles.items()} | _compressed() | _elsewhere()


CASES = _all()
"""By name, in the order in which they were recorded."""


_TIMES = re.compile(r"-?\d{13,19}")


def in_words(part: Any) -> dict[str, Any]:
    """Describe the response of a partition without times and offsets."""
    said: dict[str, Any] = {"error": part.error_code.name}
    if part.error_code:
        said["tells log start"] = part.log_start_offset >= 0
        said["message"] = part.error_message and _TIMES.sub("<time>", part.error_message)
        said["records"] = [
            [each.batch_index, each.batch_index_error_message and _TIMES.sub("<time>", each.batch_index_error_message)]
            for each in part.record_errors
        ]
    else:
        said["tells append time"] = part.log_append_time_ms >= 0
    return said


def stored_in_words(records: bytes, offset: int, sent: bytes, now_ms: int) -> dict[str, Any]:
    """Describe the stored batch at that offset: its header, and whether its body is unchanged."""
    (found,) = [each for each in read_batches(records) if each.base_offset == offset]
    minutes = round((found.max_timestamp - now_ms) / 60_000)
    end = 12 + unpack_from(">i", sent, 8)[0]
    return {
        "attributes": found.attributes,
        "last offset delta": found.last_offset_delta,
        "latest time": f"{minutes:+} min" if abs(minutes) < 10_000 else str(found.max_timestamp),
        "records": found.record_count,
        "body as it was sent": records[found.position + 61 : found.position + found.size] == sent[61:end],
    }


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Load Kafka's responses to all cases."""
    document: dict[str, dict[str, Any]] = json.loads(ANSWERS.read_text())
    return document
