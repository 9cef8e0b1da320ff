"""Responses of the cluster to requests that a rule or a gate applies to."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT


class Heard:
    """Response of the cluster. It passes unchanged, and is read only when a gate or rule needs its fields."""

    def __init__(self, name: str, version: int, frame: bytes) -> None:
        self._name = name
        self._version = version
        self.frame = frame  # with its length

    @cached_property
    def read(self) -> Any:
        """The parsed response, or None if it is unreadable."""
        try:
            return message_of(self._name).read_answer(self._version, self.frame[INT.size :])[1]
        except DecodeError:
            return None

    @property
    def error_code(self) -> ErrorCode:
        """The error of the whole response; none if it is unreadable or has no such field."""
        error: ErrorCode = getattr(self.read, "error_code", ErrorCode.none)
        return error

    @property
    def member_id(self) -> str:
        """The assigned member id, or an empty string."""
        return str(getattr(self.read, "member_id", ""))
