"""Messages from plain dictionaries and lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from kohort.protocol.errors import ErrorCode


def shape(kind: Any, values: dict[str, Any]) -> Any:
    """Build a message, as in `shape(MetadataRequest, {"topics": [{"name": "t"}], …})`."""
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in values.items()})


def _value(hint: Any, value: Any) -> Any:
    inner = next(
        (get_args(part)[0] for part in (hint, *get_args(hint)) if get_origin(part) is tuple and get_args(part)), None
    )
    if isinstance(value, list):
        return tuple(shape(inner, item) if isinstance(item, dict) else item for item in value)
    return value


def errors_in(message: object) -> Iterator[ErrorCode]:
    """Yield each error code in a response, at any depth."""
    if isinstance(message, tuple | list):
        for item in message:
            yield from errors_in(item)
    elif is_dataclass(message):
        for field in fields(message):
            value = getattr(message, field.name)
            if field.name.endswith("error_code"):
                yield ErrorCode(value)
            else:
                yield from errors_in(value)
