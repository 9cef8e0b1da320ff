"""The plain decoder over all types, and the fast one against it: what hypothesis can think of."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.pipeline.records.offset_commits import RecordSpans, read_commits
from kohort.protocol.records.layouts import CONSUMER_OFFSETS
from kohort.protocol.records.record_reader import decode
from kohort.protocol.records.record_writer import encode_key, encode_value
from kohort.protocol.records.schema import Array, RecordError, Struct
from tests.support.effort import examples

TEXT = st.text(max_size=12)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def values_of(kind: Any, version: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, Array):
        some = st.lists(values_of(kind.of, version), max_size=3)
        return st.none() | some if kind.nullable else some
    if isinstance(kind, Struct):
        fields = st.fixed_dictionaries(
            {f.name: values_of(f.type, version) for f in kind.fields if f.since <= version <= f.until}
        )
        return st.none() | fields if kind.nullable else fields
    if kind in BITS:
        return st.integers(-(2 ** (BITS[kind] - 1)), 2 ** (BITS[kind] - 1) - 1)
    if kind == "uint16":
        return st.integers(0, 65535)
    if kind == "uuid":
        return st.binary(min_size=16, max_size=16)
    text: st.SearchStrategy[Any] = TEXT if kind.startswith("string") else st.binary(max_size=20)
    return st.none() | text if kind.endswith("?") else text


@st.composite
def records(draw: st.DrawFn, types: list[int] | None = None) -> tuple[int, int, dict[str, Any], dict[str, Any]]:
    kind = draw(st.sampled_from(types or sorted(CONSUMER_OFFSETS.values)))
    layout = CONSUMER_OFFSETS.values[kind][0]
    version = draw(st.integers(*layout.versions))
    return kind, version, draw(values_of(CONSUMER_OFFSETS.keys[kind], 0)), draw(values_of(layout.body, version))


@given(records())
def test_written_rows_are_read_back(record: tuple[int, int, dict[str, Any], dict[str, Any]]) -> None:
    kind, version, key, value = record
    raw = encode_value(kind, version, value)
    decoded = decode(encode_key(kind, key), raw)
    assert (decoded.type, decoded.key, decoded.version) == (kind, key, version)
    assert decoded.value is not None
    assert encode_value(kind, version, decoded.value, decoded.dialect) == raw


@given(records(), st.data())
def test_every_prefix_is_read_or_refused(
    record: tuple[int, int, dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    kind, version, key, value = record
    whole_key, whole = encode_key(kind, key), encode_value(kind, version, value)
    cut = data.draw(st.integers(0, len(whole)))
    key_cut = data.draw(st.integers(0, len(whole_key)))
    for k, v in ((whole_key, whole[:cut]), (whole_key[:key_cut], whole)):
        with suppress(RecordError):
            decode(k, v)


@given(st.sampled_from(sorted(CONSUMER_OFFSETS.keys)), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(kind: int, junk: bytes) -> None:
    for key, value in ((encode_key(kind, {"group": "g", "groupId": "g", "topic": "t", "partition": 0, "memberId": "m",
                                          "regularExpression": "r"}), junk), (junk, junk)):  # fmt: skip
        with suppress(RecordError):
            decode(key, value)


@st.composite
def commit_rows(draw: st.DrawFn) -> tuple[bytes | None, bytes | None]:
    """Generate mostly valid commits; some are cut, flipped, or of another type."""
    kind, version, key, value = draw(records([1, 1, 1, 0, 2, 3]))
    if kind == 1 and draw(st.integers(0, 9)) == 0:
        value["metadata"] = "m" * draw(st.sampled_from([126, 127, 128, 200, 16382, 16383, 16384]))
    raw_key, raw = encode_key(kind, key), encode_value(kind, version, value)
    fate = draw(st.integers(0, 9))
    if fate == 0:
        return raw_key, None
    if fate == 1:
        return raw_key, raw[: draw(st.integers(0, len(raw)))]
    if fate == 2:
        at = draw(st.integers(0, len(raw) - 1))
        return raw_key, raw[:at] + bytes([draw(st.integers(0, 255))]) + raw[at + 1 :]
    if fate == 3:
        return raw_key[: draw(st.integers(0, len(raw_key)))], raw
    if fate == 4:
        return raw_key, raw + draw(st.binary(min_size=1, max_size=4))
    return raw_key, raw


def plain(key: bytes | None, value: bytes | None) -> tuple[Any, ...] | None:
    try:
        values = decode(key, value)
    except RecordError:
        return None
    if values.type != 1 or values.unknown_tags:
        return None
    k, v = values.key, values.value
    if v is None:
        return (k["group"], k["topic"], k["partition"], -1, -1, -1, "", -1, -1, bytes(16))
    return (
        k["group"], k["topic"], k["partition"], values.version, v["offset"], v["leaderEpoch"], v["metadata"],
        v["commitTimestamp"], v["expireTimestamp"], v["topicId"],
    )  # fmt: skip


def spans(rows: list[tuple[bytes | None, bytes | None]]) -> RecordSpans:
    fields = [field for row in rows for field in row]
    lengths = np.array([-1 if field is None else len(field) for field in fields], np.int64)
    ends = np.maximum(lengths, 0).cumsum()
    buffer = np.frombuffer(b"".join(field or b"" for field in fields), np.uint8)
    starts = ends - np.maximum(lengths, 0)
    return RecordSpans(buffer, starts[::2], lengths[::2], starts[1::2], lengths[1::2])


@examples(2)
@given(st.lists(commit_rows(), max_size=12))
def test_fast_decoder_equals_plain_one(rows: list[tuple[bytes | None, bytes | None]]) -> None:
    fast = read_commits(spans(rows))
    columns = (
        fast.groups.take(pa.array(fast.key)).to_pylist(), fast.topics.take(pa.array(fast.key)).to_pylist(), fast.partition, fast.version, fast.offset, fast.leader_epoch,
        fast.metadata.to_pylist(), fast.commit_ts_ms, fast.expire_ts_ms, [row.tobytes() for row in fast.topic_id],
    )  # fmt: skip
    for n, row in enumerate(fast.rows.tolist()):
        assert tuple(column[n] for column in columns) == plain(*rows[row])
    for row in set(range(len(rows))) - set(fast.rows.tolist()):
        found = plain(*rows[row])
        if found is not None:  # only these are left to the plain decoder
            texts = found[0] + found[1] + found[6]
            assert not texts.isascii() or len(found[6]) >= 16383 or _odd_length(rows[row][1])


def _odd_length(value: bytes | None) -> bool:
    """Encode a compact length with more bytes than needed, or an additional tag: valid, but too rare for the fast path."""
    return value is not None and value[:2] == b"\0\4"


def test_null_keys_and_values() -> None:
    row = encode_key(1, {"group": "g", "topic": "t", "partition": 1}), encode_value(1, 3, {"offset": 7, "leaderEpoch": 1,
                     "metadata": "", "commitTimestamp": 5})  # fmt: skip
    fast = read_commits(spans([(None, row[1]), (row[0], None), row]))
    assert fast.rows.tolist() == [1, 2]
    assert fast.offset.tolist() == [-1, 7]


@pytest.mark.parametrize("size", [0, 1])
def test_at_most_one_row(size: int) -> None:
    assert np.array_equal(read_commits(spans([(None, None)] * size)).rows, np.zeros(0))
