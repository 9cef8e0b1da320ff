"""Our own shapes of Kafka's messages, one file per API."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.protocol.codec import Message


def message_of(api: str) -> Message[Any, Any]:
    """The messages of an API by its name in `api_keys.py`: `join_group`. Its module is loaded at first use."""
    message: Message[Any, Any] = import_module(f"{__name__}.{api}").MESSAGE
    return message
