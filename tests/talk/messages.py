"""Values of a conversation to frames and back, through the shapes of `protocol/messages` and kio's bytes.

Conversations name fields as Kafka does in the version at hand; ours have one shape for all versions. `OLD_FORMS` and
`OTHER_NAMES` are the differences.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.messages import message_of
from kohort.proxy.talk.talk_fields import Field, Texts, schema_fields, to_values
from tests.talk.values import Value, from_bytes, read_records, to_bytes, to_text


class WrongBytes(Exception):
    """The broker sent bytes that cannot be decoded."""


def api_name(api: str) -> str:
    """Return the name in `api_keys.py` of an API. Raise ValueError if kohort does not serve it."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", api).lower()
    if name not in API_BY_NAME:
        raise ValueError(f"kohort does not serve {api}")
    return name


def write_raw_request(values: Value, client_id: str | None, correlation_id: int) -> tuple[bytes, int]:
    """Return a frame from raw values (any key, any version, any body), and its correlation id."""
    correlation_id = values.get("correlation_id", correlation_id)
    client = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id.encode())) + client_id.encode()
    header = struct.pack(">hhi", values["api_key"], values["api_version"], correlation_id) + client
    frame = header + (b"\0" if values.get("flexible") else b"") + to_bytes(values.get("body", ""))
    return struct.pack(">i", len(frame)) + frame, correlation_id


def read_answer(api: str, version: int, frame: bytes) -> Value:
    """Return the fields of a response.

    Raises:
        WrongBytes: The frame is not a response, or has extra bytes.
    """
    if api == "ApiVersions" and frame[4:6] == b"\0\x23":
        version = 0  # the refusal of a version has the form of the oldest (KIP-511)
    message = message_of(api_name(api))
    try:
        _, response = message.read_response(version, frame)
    except (DecodeError, IndexError, KeyError, ValueError, struct.error) as problem:
        raise WrongBytes(f"{api} v{version} cannot be read, {problem!r}: {frame.hex()}") from problem
    values = to_values(message.response, response, WRITTEN_TEXTS)
    last_version, to_old = OLD_FORMS.get(api, (-1, dict))
    return to_old(values) if version <= last_version else values


class WrittenTexts(Texts):
    """All fields, with texts that a test can write for bytes."""

    left_out = frozenset()
    takes_numbers = True
    null_id = str(UUID(int=0))

    def all_fields(self, shape: type) -> tuple[Field, ...]:
        return schema_fields(shape)

    def keeps(self, field: Field, value: Any, *, keeps_error: bool) -> bool:
        return True

    def to_bytes(self, text: str) -> bytes:
        return to_bytes(text)

    def to_text(self, name: str, text: str) -> str:
        return to_text(text)

    def from_bytes(self, name: str, data: bytes) -> str:
        return from_bytes(data)

    def from_text(self, name: str, text: str) -> str:
        return text

    def completed(self, values: Value, structure: Any) -> Value:
        if "acknowledge_error_code" in values:
            values["acknowledge_error_code"] = ErrorCode(values["acknowledge_error_code"]).name.upper()
        if "records" in values:
            values["records"] = read_records(b"".join(structure.records or ()))
        return {OTHER_NAMES.get(name, name): value for name, value in values.items()}


WRITTEN_TEXTS = WrittenTexts()

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
