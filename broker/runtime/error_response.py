"""The answer to a request that failed in a way nobody foresaw: its API's response with the error wherever it has room.

Made by looking at the two shapes: what the request lists (topics, partitions, groups) the response lists too, under the
same names; the rest is empty. An API that wants it otherwise offers `error_response(request, error_code)`.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from kohort.broker.runtime.registry import Api
    from kohort.protocol.errors import ErrorCode

_OTHER_NAMES = {"partition_index": ("partition", "index"), "partition": ("partition_index",), "topic": ("name",)}
"""Kafka does not always call a thing the same in a request and in its response."""

_EMPTY: dict[type, object] = {int: -1, str: "", bytes: b"", bool: False, float: 0.0}


def error_response(api: Api, request: object, error_code: ErrorCode) -> Any:
    """A response of `api` to `request` that says `error_code` and nothing else."""
    if api.error_response is not None:
        return api.error_response(request, error_code)
    return _mirror(api.response, request, error_code)


def _mirror(shape: type, asked: object, error_code: ErrorCode) -> Any:
    values: dict[str, object] = {}
    for member in fields(shape):
        element = _element(member.type)
        if member.name == "error_code":
            values[member.name] = error_code
        elif element is not None and _says_errors(element):
            values[member.name] = tuple(_mirror(element, each, error_code) for each in _listed(asked))
        elif (found := _counterpart(member, asked, values)) is not None:
            values[member.name] = found
        elif member.default is MISSING and member.default_factory is MISSING:
            values[member.name] = _empty(member.type)
    return shape(**values)


def _element(hint: Any) -> type | None:
    """The class of the things that a list lists."""
    for part in (hint, *get_args(hint)):
        if get_origin(part) is tuple and is_dataclass(get_args(part)[0]):
            inner: type = get_args(part)[0]
            return inner
    return None


def _says_errors(shape: type) -> bool:
    return any(
        member.name == "error_code" or ((inner := _element(member.type)) is not None and _says_errors(inner))
        for member in fields(shape)
    )


def _listed(asked: object) -> tuple[Any, ...]:
    """What a request, or a part of it, enumerates: its first list."""
    if not is_dataclass(asked):
        return ()
    return next((value for each in fields(asked) if isinstance(value := getattr(asked, each.name), tuple)), ())


def _counterpart(member: Field[Any], asked: object, so_far: dict[str, object]) -> object | None:
    if is_dataclass(asked):
        for name in (member.name, *_OTHER_NAMES.get(member.name, ())):
            value = getattr(asked, name, None)
            if value is not None and type(value) in (member.type, *get_args(member.type)):
                return value  # type: ignore[no-any-return]
        return None
    # A list of plain names or numbers: each is the first thing of its kind in its answer.
    return asked if type(asked) is member.type and asked not in so_far.values() else None


def _empty(hint: Any) -> object:
    if get_origin(hint) is tuple:
        return ()
    if NoneType in get_args(hint):
        return None
    return _EMPTY.get(hint)
