"""All messages, for tests that go through each API and version."""

from io import BytesIO
from typing import Any

from hypothesis import strategies as st
from kio.serial import entity_writer
from kio.static.constants import EntityType

from kohort.protocol.api_keys import APIS
from kohort.protocol.codec import Message
from kohort.protocol.messages import message_of
from tests.protocol.strategies import entities
from tests.support.effort import some_versions

VERSIONS = [
    (api.name, version)
    for api in APIS
    for version in range(max(api.min_version, api.readable_from), api.max_version + 1)
]
SOME_VERSIONS = [
    (api.name, version)
    for api in APIS
    for version in some_versions(max(api.min_version, api.readable_from), api.max_version)
]
"""Those for which a run makes up messages."""


def load(name: str) -> Message[Any, Any]:
    message = message_of(name)
    assert isinstance(message, Message)
    return message


def request_bodies(name: str, version: int) -> st.SearchStrategy[bytes]:
    """Bodies of made-up requests, written by kio."""
    entity = load(name).entity(version, EntityType.request)

    def body(request: object) -> bytes:
        buffer = BytesIO()
        entity_writer(entity)(buffer, request)
        return buffer.getvalue()

    return entities(entity).map(body)
