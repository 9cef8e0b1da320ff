"""Conversion of requests and responses to fields with values, and back.

Fields with default values are left out, as are those listed in `recorded_apis.py`. Error codes are kept.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from kohort.protocol.errors import ErrorCode
from kohort.proxy.talk.payloads import as_length, in_words, to_bytes, to_text
from kohort.proxy.talk.recorded_apis import KEPT, LEFT_OUT, PAYLOADS
from kohort.proxy.talk.talk_values import Value

_EMPTY: Final[dict[type, Any]] = {int: 0, str: "", bytes: b"", bool: False, ErrorCode: ErrorCode.none}
_EMPTY_TEXTS: Final = frozenset({"committed_metadata", "metadata"})  # texts that are rarely null and often empty


class Field(NamedTuple):
    """Field of a shape."""

    name: str
    kind: Any  # its type without None; the type of the elements for a tuple
    several: bool
    optional: bool
    default: Any


@cache
def fields_of(shape: type) -> tuple[Field, ...]:
    """Return the fields of a shape that a conversation may contain."""
    return tuple(field for field in _all_fields(shape) if field.name not in LEFT_OUT)


@cache
def _all_fields(shape: type) -> tuple[Field, ...]:
    """Return the fields of a shape with the defaults of recordings."""
    return tuple(_in_recordings(field) for field in schema_fields(shape))


def _in_recordings(field: Field) -> Field:
    if field.name in _EMPTY_TEXTS and field.kind is str:
        return field._replace(default="")
    if field.name in ("producer_id", "producer_epoch"):
        return field._replace(default=-1)  # 0 is a valid id
    return field


@cache
def schema_fields(shape: type) -> tuple[Field, ...]:
    """Return the fields of a shape with their defaults in Kafka's schemas."""
    types = get_type_hints(shape)
    return tuple(_field(field, types[field.name]) for field in fields(shape) if field.init)


def _field(field: Any, hint: Any) -> Field:
    kind, optional = _without_none(hint)
    several = get_origin(kind) is tuple
    if field.default is not MISSING:
        default: Any = field.default
    elif optional:
        default = None
    else:
        default = () if several else _EMPTY.get(kind, MISSING)
    return Field(field.name, get_args(kind)[0] if several else kind, several, optional, default)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        return next(member for member in get_args(hint) if member is not NoneType), True
    return hint, False


class Texts:
    """Texts in place of bytes and payloads, and the fields of recordings. Conversations of tests override both."""

    left_out = LEFT_OUT  # fields that a conversation does not contain
    takes_numbers = False  # whether a number is also a text, such as the id of a node in a resource name
    null_id: str | None = None

    def all_fields(self, shape: type) -> tuple[Field, ...]:
        """Return the fields of a shape with their defaults."""
        return _all_fields(shape)

    def keeps(self, field: Field, value: Any, *, keeps_error: bool) -> bool:
        """Return whether a field is shown; `keeps_error` keeps an error code of 0."""
        kept = keeps_error if field.kind is ErrorCode else field.name in KEPT and value is not None
        return bool(kept or value != field.default)

    def to_bytes(self, text: str) -> bytes:
        return to_bytes(text)

    def to_text(self, name: str, text: str) -> str:
        """Return the value of the field `name` for a text in a conversation."""
        return to_text(text) if name in PAYLOADS else text

    def from_bytes(self, name: str, data: bytes) -> str:
        return in_words(name, data)

    def from_text(self, name: str, text: str) -> str:
        return as_length(len(text.encode())) if name in PAYLOADS else text

    def completed(self, values: dict[str, Value], structure: Any) -> dict[str, Value]:
        """Return the values of a structure's fields with changes to the structure as a whole."""
        return values


RECORDED_TEXTS: Final = Texts()


# To values


def to_values(shape: type, value: Any, texts: Texts = RECORDED_TEXTS, *, keeps_error: bool = True) -> dict[str, Value]:
    """Return the fields of a request or response; `keeps_error` keeps an error code of 0."""
    values = {}
    for field in texts.all_fields(shape):
        item = getattr(value, field.name)
        if field.name not in texts.left_out and texts.keeps(field, item, keeps_error=keeps_error):
            values[field.name] = _plain(field, item, texts)
    return texts.completed(values, value)


@cache
def _is_an_outcome(shape: type) -> bool:
    """Return whether a shape mostly consists of an error code, which is then kept even if it is 0."""
    return not any(field.several or field.name == "committed_offset" for field in fields_of(shape))


def _plain(field: Field, value: Any, texts: Texts) -> Value:
    if field.several:
        return None if value is None else [_element(field, item, texts) for item in value]
    return _element(field, value, texts)


def _element(field: Field, value: Any, texts: Texts) -> Value:
    if value is None:
        return texts.null_id if field.kind is UUID else None
    if is_dataclass(field.kind):
        shape: Any = field.kind
        return to_values(shape, value, texts, keeps_error=_is_an_outcome(shape))
    if isinstance(value, ErrorCode):
        return value.name.upper()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return texts.from_bytes(field.name, value)
    return texts.from_text(field.name, value) if isinstance(value, str) else value


# From values


def from_values(shape: type, values: Value, path: str, texts: Texts = RECORDED_TEXTS) -> Any:
    """Return a request or response with these fields. Raise ValueError with `path` in front if they don't fit."""
    names = {field.name: field for field in texts.all_fields(shape) if field.name not in texts.left_out}
    for name in _mapping(values, path):
        if name not in names:
            raise ValueError(f"{path} has no field {name}; it has {', '.join(names)}")
    arguments = {name: _value(names[name], value, f"{path}.{name}", texts) for name, value in values.items()}
    for member in texts.all_fields(shape):
        if member.name not in arguments:
            arguments[member.name] = None if member.default is MISSING else member.default
    return shape(**arguments)


def _mapping(values: Value, path: str) -> dict[str, Value]:
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected fields, not {values!r}")
    return values


def _value(field: Field, value: Value, path: str, texts: Texts) -> Any:
    if value is None and field.optional:
        return None
    if not field.several:
        return _single(field, value, path, texts)
    if not isinstance(value, list):
        raise ValueError(f"{path}: expected a list, not {value!r}")
    return tuple(_single(field, item, f"{path}[{index}]", texts) for index, item in enumerate(value))


def _single(field: Field, value: Value, path: str, texts: Texts) -> Any:
    kind = field.kind
    if is_dataclass(kind):
        return from_values(kind, value, path, texts)  # type: ignore[arg-type]
    if kind in (int, bool):
        if type(value) is not kind:
            raise ValueError(f"{path}: expected {'a number' if kind is int else 'true or false'}, not {value!r}")
        return value
    if texts.takes_numbers and isinstance(value, int):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"{path}: expected text, not {value!r}")
    if kind is bytes:
        return texts.to_bytes(value)
    if kind is ErrorCode:
        return _error(value, path)
    if kind is UUID:
        return UUID(value)
    return texts.to_text(field.name, value)


def _error(name: str, path: str) -> ErrorCode:
    try:
        return ErrorCode[name.lower()]
    except KeyError:
        raise ValueError(f"{path}: unknown error {name}") from None
