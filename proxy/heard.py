"""What a cluster has answered to a request that a rule or a gate is for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT


class Heard:
    """An answer of the cluster. It is passed on as it came; what gates and rules ask of it is read when they do."""

    def __init__(self, name: str, version: int, frame: bytes) -> None:
        self._name = name
        self._version = version
        self.frame = frame
        """Its length included."""

    @cached_property
    def read(self) -> Any:
        """The answer as a value; None where it can't be read."""
        try:
            return message_of(self._name).read_answer(self._version, self.frame[INT.size :])[1]
        except DecodeError:
            return None

    @property
    def error_code(self) -> ErrorCode:
        """The error of the whole answer; none, where it can't be read or has no such error."""
        found: ErrorCode = getattr(self.read, "error_code", ErrorCode.none)
        return found

    @property
    def member_id(self) -> str:
        """The member id that it gives, if it gives one."""
        return str(getattr(self.read, "member_id", ""))
