"""Kohort's own classes for Kafka's messages, one file per API."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.protocol.codec import Message


def message_of(api: str) -> Message[Any, Any]:
    """Import the module of an API at first use and return its messages.

    Args:
        api: Name in `api_keys.py`, as in `join_group`.
    """
    message: Message[Any, Any] = import_module(f"{__name__}.{api}").MESSAGE
    return message
