"""Actions of fault rules on a request or its response.

`act` returns a response, None to send nothing (for now), or `UNCHANGED` to continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from kohort.broker.apis.api_versions import table, unsupported_version
from kohort.broker.ticket import CloseConnection
from kohort.control.control_errors import unknown
from kohort.control.exchange import UNCHANGED
from kohort.control.faults.assignments import Change
from kohort.control.faults.conditions import Condition, Delayed
from kohort.control.gates.gate_points import ANSWER, REQUEST
from kohort.control.numbers import whole
from kohort.control.request_facts import RequestFacts
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kohort.protocol.releases import api_versions_of
from kohort.protocol.topic_partition import TopicPartition
from kohort.security.acls import Operation, ResourceType
from kohort.storage.placement import NO_LEADER

if TYPE_CHECKING:
    from kohort.control.exchange import Exchange
    from kohort.security.rights import Right

ACCESS = "access"  # stage of actions that apply when the broker checks whether a request is allowed


class Action:
    """Base class of actions."""

    stage: str = REQUEST
    only_for: ClassVar[str | None] = None  # the only API that the action applies to, or None
    is_exclusive: ClassVar[bool] = True  # whether no other rule applies to a request after this action

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """Apply the action. There is a `response` only at the stage ANSWER."""
        raise NotImplementedError

    def ended(self) -> None:
        """Release what the action holds, after its rule was removed."""

    def silences(self, facts: RequestFacts) -> bool:
        """Return whether the broker would not receive such a request for now."""
        return False


@dataclass(frozen=True)
class Count(Action):
    """Action that only counts requests. Other rules still apply."""

    is_exclusive: ClassVar[bool] = False

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        return UNCHANGED

    def __str__(self) -> str:
        return "be counted"


@dataclass(frozen=True)
class Refuse(Action):
    """Action that returns an error; the broker does not receive the request."""

    error: ErrorCode

    @classmethod
    def by_name(cls, name: str) -> Refuse:
        """Return the action for an error by Kafka's name, such as `REBALANCE_IN_PROGRESS`.

        Raise ControlError if unknown.
        """
        try:
            return cls(ErrorCode[str(name).lower()])
        except KeyError:
            raise unknown("error", name, (error.name.upper() for error in ErrorCode)) from None

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        return exchange.refusal(self.error)

    def __str__(self) -> str:
        return f"answer {self.error.name.upper()}"


@dataclass
class Drop(Action):
    """Action that sends no response and reads nothing more on that connection, as if packets were lost.

    At REQUEST the broker does not receive the request. At ANSWER it executes the request, but the client does not know.
    When the rule ends, these connections are closed, so that their clients need not wait for a timeout.
    """

    stage: str = REQUEST
    _silenced: list[Exchange] = field(default_factory=list, repr=False)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        self._silenced.append(exchange)

    def ended(self) -> None:
        for exchange in self._silenced:
            exchange.connection.close("the fault that silenced it has ended")
        self._silenced.clear()

    def silences(self, facts: RequestFacts) -> bool:
        return self.stage == REQUEST

    def __str__(self) -> str:
        return "drop it" if self.stage == REQUEST else "drop the response"


@dataclass
class Hold(Action):
    """Action that holds a request until the rule ends, as if a process was stopped or a cable was cut."""

    _held: list[Exchange] = field(default_factory=list, repr=False)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        self._held.append(exchange)

    def ended(self) -> None:
        held, self._held = self._held, []
        for exchange in held:
            exchange.resume()

    def silences(self, facts: RequestFacts) -> bool:
        return True

    def __str__(self) -> str:
        return "hold it"


@dataclass(frozen=True)
class Close(Action):
    """Action that closes the connection instead of handling the request, or (ANSWER) instead of responding."""

    stage: str = REQUEST

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        raise CloseConnection(f"a fault closed the connection of its {exchange.facts.api}")

    def __str__(self) -> str:
        return "close the connection" if self.stage == REQUEST else "close the connection instead of responding"


@dataclass(frozen=True)
class Truncate(Action):
    """Action that sends the first bytes of the response, including its 4-byte length, and closes the connection."""

    length: int
    stage: str = ANSWER

    def __post_init__(self) -> None:
        whole(self.length, "the number of bytes to send", 0)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        exchange.cut(response, self.length)
        raise CloseConnection("a fault truncated its response")

    def __str__(self) -> str:
        return f"truncate the response after {self.length} bytes"


@dataclass(frozen=True)
class Delay(Action):
    """Action that delays a request or response by a time on the brokers' clock."""

    length_ms: int
    jitter_ms: int = 0  # maximum random extra delay, from the cluster's seed
    stage: str = REQUEST

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        exchange.wait(self.length_ms + (chance.randint(0, self.jitter_ms) if self.jitter_ms else 0), response)

    def __str__(self) -> str:
        jitter = f" to {self.length_ms + self.jitter_ms}" if self.jitter_ms else ""
        return f"delay {'it' if self.stage == REQUEST else 'the response'} by {self.length_ms}{jitter} ms"


@dataclass
class DelayUntil(Action):
    """Action that delays a request or response until a condition holds or the rule ends."""

    condition: Condition
    stage: str = REQUEST
    _delayed: list[tuple[Exchange, Delayed]] = field(default_factory=list, repr=False)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        if self.condition.is_now(exchange.facts):
            return UNCHANGED
        self._delayed = [delayed for delayed in self._delayed if not delayed[1].is_finished]
        self._delayed.append((exchange, exchange.wait_until(self.condition, response)))
        return None

    def ended(self) -> None:
        waiting, self._delayed = self._delayed, []
        for exchange, delayed in waiting:
            exchange.no_longer(delayed)

    def silences(self, facts: RequestFacts) -> bool:
        return self.stage == REQUEST and not self.condition.is_now(facts)

    def __str__(self) -> str:
        return f"delay {'it' if self.stage == REQUEST else 'the response'} until {self.condition.word}"


@dataclass
class StayLeader(Action):
    """Action that lets a node continue to coordinate a group after it lost it: a zombie (`zombies.py`)."""

    ends: list[Callable[[], None]] = field(default_factory=list, repr=False)  # callbacks that stop the zombies
    stage: str = "leadership"

    def ended(self) -> None:
        ends, self.ends = self.ends, []
        for end in ends:
            end()

    def __str__(self) -> str:
        return "continue to coordinate after another node took over"


@dataclass(frozen=True)
class Deny(Action):
    """Action that denies the sender a right, whatever ACLs exist, as if an ACL was missing."""

    operation: Operation
    resource_type: ResourceType | None
    name: str  # a pattern, in which `*` matches any text
    stage: str = ACCESS

    def takes_away(self, right: Right, name: str) -> bool:
        return (
            self.operation in (Operation.ALL, right.operation)
            and self.resource_type in (None, right.resource_type)
            and fnmatchcase(name, self.name)
        )

    def __str__(self) -> str:
        resource = "anything" if self.resource_type is None else self.resource_type.name.lower().replace("_", " ")
        operation = "everything" if self.operation == Operation.ALL else self.operation.name
        return f"deny {operation} on {resource} {self.name}"


@dataclass(frozen=True)
class HideNode(Action):
    """Action that omits a node from Metadata responses; its partitions appear without a leader."""

    node: int
    stage: str = ANSWER
    only_for: ClassVar[str | None] = "Metadata"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        response.brokers = tuple(broker for broker in response.brokers if broker.node_id != self.node)
        for topic in response.topics:
            for part in topic.partitions:
                if part.leader_id == self.node:
                    part.leader_id, part.error_code = NO_LEADER, ErrorCode.leader_not_available
        return response

    def __str__(self) -> str:
        return f"hide node {self.node}"


@dataclass(frozen=True)
class OldApiVersions(Action):
    """Action that returns the ApiVersions response of an older Kafka release, whose versions clients then use."""

    release: str
    stage: str = ANSWER
    only_for: ClassVar[str | None] = "ApiVersions"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        ticket = exchange.ticket
        if ticket.version <= api_versions_of(self.release).max_version:
            return self.offered(ticket.version, response)
        ticket.version = 0  # Kafka's response to an unknown version
        return unsupported_version(self.release)

    def offered(self, version: int, response: Any) -> Any:
        """Return the release's response in a version, unless the broker's response is an error."""
        return table(version, self.release) if isinstance(response, bytes) else response

    def __str__(self) -> str:
        return f"answer as Kafka {self.release}"


@dataclass(frozen=True)
class StaleMetadata(Action):
    """Action that returns the leaders of an earlier time in Metadata responses."""

    leaders: Mapping[TopicPartition, tuple[int, int]]  # leader and leader epoch at that time, by partition
    stage: str = ANSWER
    only_for: ClassVar[str | None] = "Metadata"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        for topic in response.topics:
            for part in topic.partitions:
                leader = self.leaders.get((topic.name or "", part.partition_index))
                if leader is not None:
                    part.leader_id, part.leader_epoch = leader
        return response

    def __str__(self) -> str:
        return "return old leaders"


@dataclass(frozen=True)
class Assign(Action):
    """Action that replaces the assignments in the leader's SyncGroup request."""

    change: Change
    only_for: ClassVar[str | None] = "SyncGroup"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        request: SyncGroupRequest = exchange.request
        if request.assignments:  # only the leader's request contains assignments
            shares = self.change.change({entry.member_id: entry.assignment for entry in request.assignments})
            exchange.request = replace(
                request,
                assignments=tuple(
                    SyncGroupRequestAssignment(member_id=member_id, assignment=share)
                    for member_id, share in shares.items()
                ),
            )
        return UNCHANGED

    def __str__(self) -> str:
        return f"assign {self.change.words}"
