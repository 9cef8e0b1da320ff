"""All messages, for tests that go through each API and version."""

from importlib import import_module
from typing import Any

from kohort.protocol.api_keys import APIS
from kohort.protocol.codec import Message

VERSIONS = [
    (api.name, version)
    for api in APIS
    for version in range(max(api.min_version, api.readable_from), api.max_version + 1)
]


def load(name: str) -> Message[Any, Any]:
    message = import_module(f"kohort.protocol.messages.{name}").MESSAGE
    assert isinstance(message, Message)
    return message
