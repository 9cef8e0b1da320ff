"""Answers of any API and version, filled with something in every field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from types import NoneType, UnionType
from typing import Any, get_args, get_origin
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kohort.protocol.wire import INT, unsigned_varint
from kohort.proxy.addressed_apis import ADDRESSED, entity
from kohort.proxy.answer_layout import Walk, layout_of
from kohort.proxy.answer_rewriting import PADDING_TAG

VALUES: dict[str, object] = {
    "bool": True, "error_code": ErrorCode.none, "float64": 0.5, "string": "ein Text", "uuid": UUID(int=7),
}  # fmt: skip


def sample(cls: Any, records: bytes = b"records", tagged: bool = True) -> Any:
    """Return an object of one of kio's classes with two elements in each list. `tagged`: set tagged fields, too."""
    return cls(
        **{field.name: _value(field, records, tagged) for field in fields(cls) if tagged or "tag" not in field.metadata}
    )


def _value(member: Any, records: bytes, tagged: bool) -> Any:
    hint = _without_none(member.type)
    if get_origin(hint) is tuple:
        inner = _without_none(get_args(hint)[0])
        one = sample(inner, records, tagged) if is_dataclass(inner) else _primitive(member, inner, records)
        return (one, one)
    return sample(hint, records, tagged) if is_dataclass(hint) else _primitive(member, hint, records)


def _primitive(member: Any, hint: Any, records: bytes) -> Any:
    kafka_type = member.metadata["kafka_type"]
    if kafka_type in ("bytes", "records"):
        return records
    if kafka_type in VALUES:
        return VALUES[kafka_type]
    if kafka_type.startswith(("timedelta", "datetime")):
        return hint.parse(_time(kafka_type))
    return hint(1)


def _time(kafka_type: str) -> Any:
    from datetime import UTC, datetime, timedelta

    return timedelta(milliseconds=5) if kafka_type.startswith("timedelta") else datetime(2026, 1, 1, tzinfo=UTC)


def _without_none(hint: Any) -> Any:
    if isinstance(hint, UnionType):
        return next(arg for arg in get_args(hint) if arg is not NoneType)
    return hint


def frame(answer: Any, correlation_id: int) -> bytes:
    """Return an encoded response with its length prefix."""
    body = BytesIO()
    entity_writer(type(answer))(body, answer)
    whole = INT.pack(correlation_id) + (b"\x00" if type(answer).__flexible__ else b"") + body.getvalue()
    return INT.pack(len(whole)) + whole


def read(data: bytes, name: str, version: int) -> Any:
    """Decode the response in a frame, without padding, which kio does not skip."""
    cls = entity(name, version)
    assert INT.unpack_from(data) == (len(data) - 4,)
    start = 4 + 4 + bool(cls.__flexible__)
    data = _unpadded(data, name, version)
    answer, size = entity_reader(cls)(data, start)
    assert start + size == len(data)
    return answer


def _unpadded(data: bytes, name: str, version: int) -> bytes:
    layout = layout_of(next(key for key, each in ADDRESSED.items() if each == name), version)
    assert layout is not None
    if not layout.streams:
        return data
    walk = Walk()
    walk.data += data[4:]
    assert list(layout.walk(walk)) == []
    assert walk.tags_at is not None
    start, end, count = walk.tags_at
    padding_at = data.rfind(unsigned_varint(PADDING_TAG), start + 4)
    if padding_at < 0:
        return data
    return data[: start + 4] + unsigned_varint(count - 1) + data[end + 4 : padding_at]


def moved(answer: Any, to: Callable[[int, str, int], tuple[str, int]]) -> Any:
    """Return the response with all addresses replaced."""
    changes: dict[str, Any] = {}
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, tuple):
            changes[field.name] = tuple(moved(one, to) if is_dataclass(one) else one for one in value)
        elif is_dataclass(value):
            changes[field.name] = moved(value, to)
    names = {field.name for field in fields(answer)}
    if {"host", "port"} <= names:
        node_id = answer.node_id if "node_id" in names else answer.broker_id
        host, port = to(node_id, answer.host, answer.port)
        changes |= {"host": host, "port": type(answer.port)(port)}
    return replace(answer, **changes)
