"""The values of a conversation: the text inside braces, names, and bytes that a person can read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kohort.proxy.talk.payloads import ENCODERS
from kohort.proxy.talk.talk_values import NUMBER, QUOTED, Value, read_values, show

__all__ = ["NUMBER", "QUOTED", "Value", "read_values", "show"]

NAME = re.compile(r"\$([a-z][a-z0-9_]*)")
NAME_INSIDE = re.compile(r"\$(?:\{([a-z][a-z0-9_]*)\}|([a-z][a-z0-9_]*))")


# Names


def fill(value: Value, names: Mapping[str, Value]) -> Value:
    """Replace `$name`, and `${name}` inside a text, by their values; unbound names stay."""
    if isinstance(value, dict):
        return {fill(key, names): fill(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, names) for item in value]
    if not isinstance(value, str):
        return value
    whole = NAME.fullmatch(value)
    if whole:
        return names.get(whole[1], value)
    return NAME_INSIDE.sub(lambda name: str(names.get(name[1] or name[2], name[0])), value)


def topic_id(topic: str, names: Mapping[str, Value]) -> str:
    """Return the id of a topic of this conversation, whose name is filled in already; another text is an id itself."""
    ids = (names[f"{name}_id"] for name, value in names.items() if value == topic and f"{name}_id" in names)
    return next(ids, topic)


# Bytes

HEX = re.compile(r"0x((?:[0-9a-f]{2})*)")
BUILT = re.compile(r"(subscription|assignment|batch|repeat)\((.*)\)", re.DOTALL)


def to_bytes(text: str) -> bytes:
    """Encode `0x00ff`, `subscription(a b)`, `assignment(a:0+1 b:2)`, `batch(x key=y)`; anything else is UTF-8."""
    in_hex = HEX.fullmatch(text)
    if in_hex:
        return bytes.fromhex(in_hex[1])
    built = BUILT.fullmatch(text)
    if built and built[1] in BUILDERS:
        return BUILDERS[built[1]](built[2].split())
    return to_text(text).encode()


def to_text(text: str) -> str:
    """Expand `repeat(x 4096)` to a long text; other texts stay."""
    built = BUILT.fullmatch(text)
    if not built or built[1] != "repeat":
        return text
    what, _, times = built[2].rpartition(" ")
    return what * int(times)


def from_bytes(data: bytes) -> str:
    """Return text if `to_bytes` would encode it to the same bytes, else hex."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
    return text if text.isprintable() and not text.startswith("0x") and not BUILT.fullmatch(text) else "0x" + data.hex()


BATCH_OPTIONS = {"pid": -1, "epoch": -1, "sequence": -1, "txn": 0, "at": 1_700_000_000_000}


def batch(words: Sequence[str]) -> bytes:
    """Encode a record batch: `value` and `key=value` are records, `pid:7` and similar words are fields of the batch."""
    from kafka.record.default_records import DefaultRecordBatchBuilder  # not our own: it checks us

    options = dict(BATCH_OPTIONS)
    records: list[tuple[bytes | None, bytes]] = []
    for word in words:
        option, colon, number = word.partition(":")
        key, equals, value = word.partition("=")
        if colon and option in options:
            options[option] = int(number)
        else:
            records.append((key.encode(), value.encode()) if equals else (None, word.encode()))
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=options["txn"],
        producer_id=options["pid"],
        producer_epoch=options["epoch"],
        base_sequence=options["sequence"],
        batch_size=1 << 20,
    )
    for offset, (record_key, record_value) in enumerate(records):
        builder.append(offset, timestamp=options["at"], key=record_key, value=record_value, headers=[])
    return bytes(builder.build())


def read_records(data: bytes) -> list[Value]:
    """Return the records of a Fetch response."""
    from kafka.record import MemoryRecords

    found = []
    batches = MemoryRecords(data)
    while (each := batches.next_batch()) is not None:
        found += [_record(record, control=each.is_control_batch) for record in each]
    return found


def _record(record: Any, *, control: bool) -> Value:
    if control:
        return {"offset": record.offset, "control": True}
    values: Value = {"offset": record.offset, "key": _text(record.key), "value": _text(record.value)}
    if record.headers:
        values["headers"] = {name: _text(value) for name, value in record.headers}
    return values


def _text(data: bytes | None) -> str | None:
    return None if data is None else from_bytes(bytes(data))


BUILDERS = {**ENCODERS, "batch": batch}
