"""Gates: named stops that requests, or their answers, wait at until a test lets them through.

A gate does not stop time: a member that waits for the answer of its SyncGroup at a gate is, to the coordinator, one
that has been answered. Pause the clock where that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kohort.control.calls import ANSWER, REQUEST
from kohort.control.errors import NotFoundError, unknown
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.control.calls import Call


@dataclass(frozen=True)
class Stop:
    """Where a gate stands."""

    api: str
    stage: str
    about: str
    only_without_error: bool = False


STOPS = {
    "join-received": Stop("JoinGroup", REQUEST, "a member asks to join; the coordinator has not seen it"),
    "join-complete": Stop("JoinGroup", ANSWER, "a generation is there; its members have not heard of it", True),
    "sync-received": Stop("SyncGroup", REQUEST, "a member asks for its share; the coordinator has not seen it"),
    "sync-answer": Stop("SyncGroup", ANSWER, "shares are handed out; the members have not heard", True),
    "heartbeat-received": Stop("Heartbeat", REQUEST, "a member beats; the coordinator has not noticed"),
    "heartbeat-answer": Stop("Heartbeat", ANSWER, "a member has beaten; it does not know what it was told"),
    "leave-received": Stop("LeaveGroup", REQUEST, "a member leaves; the coordinator has not seen it"),
    "commit-received": Stop("OffsetCommit", REQUEST, "offsets are committed; the coordinator has not seen them"),
    "commit-answer": Stop("OffsetCommit", ANSWER, "offsets are written; the member does not know"),
    "offset-fetch-received": Stop("OffsetFetch", REQUEST, "a member asks where to go on; nobody has looked"),
}
"""What one may hold. The order is that of a member's life."""


class Held:
    """One request that waits at a gate."""

    __slots__ = ("call", "response")

    def __init__(self, call: Call, response: Any) -> None:
        self.call = call
        self.response = response

    @property
    def client_id(self) -> str:
        """Of who sent it."""
        return self.call.subject.client_id

    @property
    def member(self) -> str:
        """The member id; at `join-complete` the one it was given."""
        told = getattr(self.response, "member_id", "")
        return str(told or next(iter(self.call.subject.members), ""))

    @property
    def instance(self) -> str:
        """The `group.instance.id`, or nothing."""
        return next(iter(self.call.subject.instances), "")

    @property
    def group(self) -> str:
        """The group it is about."""
        return self.call.subject.group

    def __str__(self) -> str:
        return str(self.call.subject)


class Gate:
    """Holds from the moment it is made until it is opened, or the `with` block that it opened ends."""

    def __init__(self, name: str, stop: Stop, group: str | None, gates: Gates) -> None:
        self.name = name
        self.group = group
        """None: it holds every group's."""
        self._stop = stop
        self._gates = gates
        self.held: list[Held] = []
        """Who waits, in the order in which they came."""

    @property
    def is_open(self) -> bool:
        """Whether it holds nobody any more."""
        return self not in self._gates

    def release(self, who: str) -> None:
        """Lets one through: by member id, instance id or client id. Raises NotFoundError when nobody of it waits."""
        for held in self.held:
            if who in (held.member, held.instance, held.client_id):
                self._let_through(held)
                return
        waiting = ", ".join(str(held) for held in self.held) or "nobody"
        raise NotFoundError(f"{who} does not wait at {self.name}; there waits {waiting}")

    def release_all(self) -> int:
        """Lets everybody through who waits; the gate goes on holding. Returns how many there were."""
        waiting, count = list(self.held), len(self.held)
        for held in waiting:
            self._let_through(held)
        return count

    def open(self) -> int:
        """Lets everybody through, now and from now on. Returns how many waited."""
        self._gates._forget(self)
        return self.release_all()

    def stops(self, call: Call, response: Any) -> bool:
        """Whether it holds this request; then it does."""
        subject, stop = call.subject, self._stop
        if stop.stage != call.stage or stop.api != subject.api or self.group not in (None, subject.group):
            return False
        if stop.only_without_error and response.error_code is not ErrorCode.none:
            return False
        self.held.append(Held(call, response))
        self._gates.changed()
        return True

    def _let_through(self, held: Held) -> None:
        self.held.remove(held)
        held.call.resume(held.response)
        self._gates.changed()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open()

    def __str__(self) -> str:
        return f"gate {self.name}" + (f" of group {self.group}" if self.group is not None else "")


class Gates:
    """The gates that hold."""

    def __init__(self) -> None:
        self._gates: list[Gate] = []
        self.changed: Callable[[], None] = lambda: None
        """Called when somebody has come to a gate, or gone through."""

    def hold(self, name: str, group: str | None = None) -> Gate:
        """Closes a gate, for one group or for all. Raises ControlError, with the nearest name, when there is none."""
        stop = STOPS.get(name)
        if stop is None:
            raise unknown("gate", name, STOPS)
        gate = Gate(name, stop, group, self)
        self._gates.append(gate)
        return gate

    def find(self, name: str) -> Gate:
        """A gate that holds, the first of that name. Raises NotFoundError."""
        for gate in self._gates:
            if gate.name == name:
                return gate
        raise NotFoundError(f"nothing is held at {name}; hold it first")

    def holds(self, call: Call, response: Any = None) -> bool:
        """Whether a request has to wait; then it does."""
        return any(gate.stops(call, response) for gate in self._gates)

    def open_all(self) -> list[str]:
        """Opens every gate. Returns a line for each, saying who waited."""
        left = []
        for gate in list(self._gates):
            waiting = ", ".join(str(held) for held in gate.held) or "nobody"
            left.append(f"{gate} was still held; there waited {waiting}")
            gate.open()
        return left

    def __iter__(self) -> Iterator[Gate]:
        return iter(self._gates)

    def __contains__(self, gate: object) -> bool:
        return gate in self._gates

    def _forget(self, gate: Gate) -> None:
        if gate in self._gates:
            self._gates.remove(gate)
