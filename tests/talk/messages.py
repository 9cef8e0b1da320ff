"""Values of a conversation to frames and back, through the shapes of `protocol/messages` and kio's bytes.

Conversations name fields as Kafka does in the version at hand; ours have one shape for all versions. `OLD_FORMS` and
`OTHER_NAMES` are the differences.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from typing import Any
from uuid import UUID

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.messages import message_of
from kohort.proxy.talk.short_forms import lengthened
from kohort.proxy.talk.talk_fields import Field, Texts, from_values, schema_fields
from tests.talk.values import Value, from_bytes, read_records, to_bytes, to_text

NO_ID = UUID(int=0)


class WrongBytes(Exception):
    """The broker sent bytes that cannot be decoded."""


# Requests


def write_request(api: str, version: int, correlation_id: int, client_id: str | None, values: Value) -> bytes:
    """Return a complete frame.

    Raises:
        ValueError: The values do not fit the request.
    """
    message = _message(api)
    request = from_values(message.request, lengthened(message.request, values), api, _TEXTS)
    body: bytes = message.write_request(version, correlation_id, client_id, request)
    return struct.pack(">i", len(body)) + body


def write_raw_request(values: Value, client_id: str | None, correlation_id: int) -> tuple[bytes, int]:
    """Return a frame from raw values (any key, any version, any body), and its correlation id."""
    correlation_id = values.get("correlation_id", correlation_id)
    client = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id.encode())) + client_id.encode()
    header = struct.pack(">hhi", values["api_key"], values["api_version"], correlation_id) + client
    frame = header + (b"\0" if values.get("flexible") else b"") + to_bytes(values.get("body", ""))
    return struct.pack(">i", len(frame)) + frame, correlation_id


def _to_text(name: str, value: str) -> str:
    return to_text(value)


_TEXTS = Texts(schema_fields, frozenset(), to_bytes, _to_text, takes_numbers=True)


# Answers


def read_answer(api: str, version: int, frame: bytes) -> Value:
    """Return the fields of a response.

    Raises:
        WrongBytes: The frame is not a response, or has extra bytes.
    """
    if api == "ApiVersions" and frame[4:6] == b"\0\x23":
        version = 0  # the refusal of a version has the form of the oldest (KIP-511)
    message = _message(api)
    try:
        _, response = message.read_response(version, frame)
    except (DecodeError, IndexError, KeyError, ValueError, struct.error) as problem:
        raise WrongBytes(f"{api} v{version} cannot be read, {problem!r}: {frame.hex()}") from problem
    values = _values_of(message.response, response)
    last_version, to_old = OLD_FORMS.get(api, (-1, dict))
    if version <= last_version:
        values = to_old(values)
    return values


def _values_of(shape: type, message: Any) -> Value:
    values = {
        OTHER_NAMES.get(field.name, field.name): _plain(field, getattr(message, field.name))
        for field in schema_fields(shape)
    }
    if "acknowledge_error_code" in values:
        values["acknowledge_error_code"] = ErrorCode(values["acknowledge_error_code"]).name.upper()
    if "records" in values:
        values["records"] = read_records(b"".join(message.records or ()))
    return values


def _plain(field: Field, value: Any) -> Value:
    if field.several:
        return None if value is None else [_element(field.kind, item) for item in value]
    return _element(field.kind, value)


def _element(kind: Any, value: Any) -> Value:
    if kind is UUID:
        return str(value or NO_ID)
    if is_dataclass(kind) and value is not None:
        return _values_of(kind, value)  # type: ignore[arg-type]
    if isinstance(value, ErrorCode):
        return value.name.upper()
    if isinstance(value, bytes):
        return from_bytes(value)
    return value


OTHER_NAMES = {
    "cluster_authorized_operations": "authorized_operations",
    "topic_authorized_operations": "authorized_operations",
}


def _first_of(word: str) -> Callable[[Value], Value]:
    return lambda values: {"throttle_time_ms": values["throttle_time_ms"]} | values[word][0]


OLD_FORMS: dict[str, tuple[int, Callable[[Value], Value]]] = {
    "OffsetFetch": (7, _first_of("groups")),
    "FindCoordinator": (3, _first_of("coordinators")),
}  # last version in which a response is about one thing only, and the path to it


# Shapes


@cache
def _message(api: str) -> Any:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()
    if name not in API_BY_NAME:
        raise ValueError(f"kohort does not serve {api}")
    return message_of(name)
