"""The response to a request that failed unexpectedly: its API's response with the error code in every error field.

It is built by comparing the two schemas: what the request lists (topics, partitions, groups) the response lists, too,
under the same names; other fields are empty. An API may override this with `error_response(request, error_code)`.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from kohort.broker.runtime.registry import Api
    from kohort.protocol.errors import ErrorCode

# Fields with different names in Kafka's request and response.
_OTHER_NAMES = {"partition_index": ("partition", "index"), "partition": ("partition_index",), "topic": ("name",)}

_EMPTY: dict[type, object] = {int: -1, str: "", bytes: b"", bool: False, float: 0.0}


def error_response(api: Api, request: object, error_code: ErrorCode) -> Any:
    """Return a response of `api` to `request` that contains only the error code."""
    if api.error_response is not None:
        return api.error_response(request, error_code)
    return _mirror(api.response, request, error_code)


def _mirror(shape: type, request: object, error_code: ErrorCode) -> Any:
    values: dict[str, object] = {}
    for member in fields(shape):
        element = _element(member.type)
        if member.name == "error_code":
            values[member.name] = error_code
        elif element is not None and _says_errors(element):
            values[member.name] = tuple(
                _mirror(element, element_of_request, error_code) for element_of_request in _listed(request)
            )
        elif (value := _counterpart(member, request, values)) is not None:
            values[member.name] = value
        elif member.default is MISSING and member.default_factory is MISSING:
            values[member.name] = _empty(member.type)
    return shape(**values)


def _element(hint: Any) -> type | None:
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


def _listed(request: object) -> tuple[Any, ...]:
    """Return the elements of the first list of a request or of a part of it."""
    if not is_dataclass(request):
        return ()
    return next((value for field in fields(request) if isinstance(value := getattr(request, field.name), tuple)), ())


def _counterpart(member: Field[Any], request: object, so_far: dict[str, object]) -> object | None:
    if is_dataclass(request):
        for name in (member.name, *_OTHER_NAMES.get(member.name, ())):
            value = getattr(request, name, None)
            if value is not None and type(value) in (member.type, *get_args(member.type)):
                return value  # type: ignore[no-any-return]
        return None
    # A list of plain names or numbers: each is the first field of its type in the response.
    return request if type(request) is member.type and request not in so_far.values() else None


def _empty(hint: Any) -> object:
    if get_origin(hint) is tuple:
        return ()
    if NoneType in get_args(hint):
        return None
    return _EMPTY.get(hint)
