"""Requests and answers that pass, one after the other, on a clock that the test owns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kohort.broker.cluster.group_events import EventFeed, Recorded
from kohort.coordinator.events.group_event import GroupEvent
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leave_group import MemberResponse
from kohort.proxy.observed.group_listener import GroupListener
from kohort.proxy.observed.observed_classic_group import ObservedClassicGroup
from kohort.proxy.observed.observed_group import Traffic
from kohort.proxy.relay import Relay
from kohort.proxy.tap import Tap
from tests.proxy.conversing import Elsewhere, asks, hears
from tests.support.frames import frame, message

VERSIONS = {"heartbeat": 4, "leave_group": 5}
S = 1_000_000


class Speaker:
    """At node 7."""

    host = "10.0.0.1"
    node_id = 7


class Passing:
    """Requests and responses that pass, the time, and the resulting state."""

    def __init__(self) -> None:
        self.now_us = 0
        self.recorded: list[Recorded] = []
        events = EventFeed("seen")
        events.listen(self.recorded.append)
        self.needed: list[tuple[str, str]] = []  # groups that need a description, with their types
        self.listener = GroupListener(Traffic(events), needs=lambda *each: self.needed.append(each))
        self.tap = Tap(lambda: self.now_us)
        self.tap.listen(self.listener)
        self.lines: dict[str, Relay] = {}

    @property
    def events(self) -> list[GroupEvent]:
        """Return the events so far."""
        return [item.event for item in self.recorded]

    def says(self, client: str, api: str, error: ErrorCode = ErrorCode.none, /, **fields: Any) -> None:
        """Pass a request of a client on its own connection, and the response."""
        self.asks(client, api, error, **fields)()

    def asks(self, client: str, api: str, error: ErrorCode = ErrorCode.none, /, **fields: Any) -> Callable[[], object]:
        """Pass a request of a client, and return a function that passes the response."""
        relay = self.lines.setdefault(client, Relay(Elsewhere(), line=self.tap.line(Speaker())))
        asks(relay, frame(api, VERSIONS[api], 1, client_id=client, **fields))
        answer: dict[str, Any] = {"error_code": error}
        if api == "leave_group":
            answer["members"] = tuple(
                MemberResponse(member_id=field.member_id, group_instance_id=None, error_code=error)
                for field in fields["members"]
            )
        written = message(api).write(VERSIONS[api], 1, message(api).response(**answer))
        data = written if isinstance(written, bytes) else b"".join(written)
        return partial(hears, relay, data)

    def beats(self, client: str, error: ErrorCode = ErrorCode.none, group: str = "g", generation: int = 4) -> None:
        """Pass a member's heartbeat, a second after the previous event."""
        self.now_us += S
        self.says(client, "heartbeat", error, group_id=group, generation_id=generation, member_id=f"{client}-1")

    def group(self, group_id: str = "g") -> ObservedClassicGroup:
        group = self.listener.groups[group_id]
        assert isinstance(group, ObservedClassicGroup)
        return group
