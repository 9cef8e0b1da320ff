"""What a rule does to a request, or to its answer.

`act` returns what the client is answered, None when it hears nothing (for now), or `ON` to let things go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from kohort.broker.apis.api_versions import table, unsupported_version
from kohort.broker.ticket import CloseConnection
from kohort.control.assignments import Change
from kohort.control.conditions import Condition, Delayed
from kohort.control.control_errors import unknown
from kohort.control.exchange import ON
from kohort.control.gate_points import ANSWER, REQUEST
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

ACCESS = "access"
"""The stage of an action that acts where the broker asks whether a request is allowed."""


class Action:
    """One way to spoil a request."""

    stage: str = REQUEST
    only_for: ClassVar[str | None] = None
    """The one API it makes sense for; None: any."""
    spoils: ClassVar[bool] = True
    """Whether a request that it has acted on is no other rule's any more."""

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """Does it. `response` is None at the stage REQUEST."""
        raise NotImplementedError

    def ended(self) -> None:
        """Its rule has been removed."""

    def silences(self, facts: RequestFacts) -> bool:
        """Whether the broker would hear nothing of such a request for now."""
        return False


@dataclass(frozen=True)
class Count(Action):
    """Nothing happens to it, and other rules may act on it: the rule counts."""

    spoils: ClassVar[bool] = False

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        return ON

    def __str__(self) -> str:
        return "be counted"


@dataclass(frozen=True)
class Refuse(Action):
    """The client hears an error; the broker has never seen the request."""

    error: ErrorCode

    @classmethod
    def by_name(cls, name: str) -> Refuse:
        """By Kafka's name: `REBALANCE_IN_PROGRESS`. Raises ControlError when there is none."""
        try:
            return cls(ErrorCode[str(name).lower()])
        except KeyError:
            raise unknown("error", name, (error.name.upper() for error in ErrorCode)) from None

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        return exchange.refusal(self.error)

    def __str__(self) -> str:
        return f"answer {self.error.name.upper()}"


@dataclass
class Drop(Action):
    """Nothing comes back, and nothing more is read on that connection: as when packets are lost.

    At REQUEST the broker never sees it; at ANSWER it did what was asked, and only the client does not know. When the
    rule ends, the connections that it has silenced are closed, so that their clients need not wait for a timeout.
    """

    stage: str = REQUEST
    _silenced: list[Exchange] = field(default_factory=list, repr=False)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        self._silenced.append(exchange)

    def ended(self) -> None:
        """See `Action`."""
        for exchange in self._silenced:
            exchange.connection.close("the fault that kept it silent is over")
        self._silenced.clear()

    def silences(self, facts: RequestFacts) -> bool:
        """See `Action`."""
        return self.stage == REQUEST

    def __str__(self) -> str:
        return "drop it" if self.stage == REQUEST else "lose the answer"


@dataclass
class Hold(Action):
    """Keeps it until the rule ends; then it goes on. So it is with a process that was stopped, or a cut cable."""

    _held: list[Exchange] = field(default_factory=list, repr=False)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        self._held.append(exchange)

    def ended(self) -> None:
        """See `Action`."""
        held, self._held = self._held, []
        for exchange in held:
            exchange.resume()

    def silences(self, facts: RequestFacts) -> bool:
        """See `Action`."""
        return True

    def __str__(self) -> str:
        return "hold it"


@dataclass(frozen=True)
class Close(Action):
    """Hangs up instead of handling it, or (ANSWER) instead of answering."""

    stage: str = REQUEST

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        raise CloseConnection(f"a fault hung up on its {exchange.facts.api}")

    def __str__(self) -> str:
        return "hang up" if self.stage == REQUEST else "hang up instead of answering"


@dataclass(frozen=True)
class Truncate(Action):
    """Sends the first bytes of the answer, the four of its length included, and hangs up."""

    length: int
    stage: str = ANSWER

    def __post_init__(self) -> None:
        whole(self.length, "the length of what arrives", 0)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        exchange.cut(response, self.length)
        raise CloseConnection("a fault cut its answer")

    def __str__(self) -> str:
        return f"cut the answer after {self.length} bytes"


@dataclass(frozen=True)
class Delay(Action):
    """Goes on later, by the brokers' clock."""

    length_ms: int
    jitter_ms: int = 0
    """Up to so much longer, from the cluster's seed."""
    stage: str = REQUEST

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        exchange.wait(self.length_ms + (chance.randint(0, self.jitter_ms) if self.jitter_ms else 0), response)

    def __str__(self) -> str:
        jitter = f" to {self.length_ms + self.jitter_ms}" if self.jitter_ms else ""
        return f"delay {'it' if self.stage == REQUEST else 'the answer'} by {self.length_ms}{jitter} ms"


@dataclass
class DelayUntil(Action):
    """Goes on when something has come about, or when the rule ends."""

    condition: Condition
    stage: str = REQUEST
    _delayed: list[tuple[Exchange, Delayed]] = field(default_factory=list, repr=False)

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        if self.condition.is_now(exchange.facts):
            return ON
        self._delayed = [each for each in self._delayed if not each[1].over]
        self._delayed.append((exchange, exchange.wait_until(self.condition, response)))
        return None

    def ended(self) -> None:
        """See `Action`."""
        waiting, self._delayed = self._delayed, []
        for exchange, delayed in waiting:
            exchange.no_longer(delayed)

    def silences(self, facts: RequestFacts) -> bool:
        """See `Action`."""
        return self.stage == REQUEST and not self.condition.is_now(facts)

    def __str__(self) -> str:
        return f"delay {'it' if self.stage == REQUEST else 'the answer'} until {self.condition.word}"


@dataclass
class StayLeader(Action):
    """A node that loses the coordination of a group goes on answering for it: a zombie (`kohort.control.zombies`)."""

    ends: list[Callable[[], None]] = field(default_factory=list, repr=False)
    """What lets each zombie hear that it is none of its business any more."""
    stage: str = "leadership"

    def ended(self) -> None:
        """See `Action`."""
        ends, self.ends = self.ends, []
        for end in ends:
            end()

    def __str__(self) -> str:
        return "go on coordinating when another node does"


@dataclass(frozen=True)
class Deny(Action):
    """Who sends the request is without a right, whatever ACLs there are. So an ACL looks that is missing."""

    operation: Operation
    resource_type: ResourceType | None
    name: str
    """A pattern, in which `*` stands for anything."""
    stage: str = ACCESS

    def takes_away(self, right: Right, name: str) -> bool:
        """Whether this is the right."""
        return (
            self.operation in (Operation.ALL, right.operation)
            and self.resource_type in (None, right.resource_type)
            and fnmatchcase(name, self.name)
        )

    def __str__(self) -> str:
        kind = "anything" if self.resource_type is None else self.resource_type.name.lower().replace("_", " ")
        what = "everything" if self.operation == Operation.ALL else self.operation.name
        return f"deny {what} on {kind} {self.name}"


@dataclass(frozen=True)
class HideNode(Action):
    """Metadata leaves a node out: what it leads has no leader for those who ask."""

    node: int
    stage: str = ANSWER
    only_for: ClassVar[str | None] = "Metadata"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        response.brokers = tuple(each for each in response.brokers if each.node_id != self.node)
        for topic in response.topics:
            for part in topic.partitions:
                if part.leader_id == self.node:
                    part.leader_id, part.error_code = NO_LEADER, ErrorCode.leader_not_available
        return response

    def __str__(self) -> str:
        return f"hide node {self.node}"


@dataclass(frozen=True)
class OldApiVersions(Action):
    """ApiVersions is answered as an older release of Kafka does: what the client says then it says as to that one."""

    release: str
    stage: str = ANSWER
    only_for: ClassVar[str | None] = "ApiVersions"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        ticket = exchange.ticket
        if ticket.version <= api_versions_of(self.release).max_version:
            return self.offered(ticket.version, response)
        ticket.version = 0  # as Kafka answers a version that it does not know
        return unsupported_version(self.release)

    def offered(self, version: int, response: Any) -> Any:
        """The answer in a version that the release knows, in the place of the broker's own; a refusal stays."""
        return table(version, self.release) if isinstance(response, bytes) else response

    def __str__(self) -> str:
        return f"answer as Kafka {self.release}"


@dataclass(frozen=True)
class StaleMetadata(Action):
    """Metadata names the leaders of an earlier moment."""

    leaders: Mapping[TopicPartition, tuple[int, int]]
    """Topic and partition to leader and leader epoch, then."""
    stage: str = ANSWER
    only_for: ClassVar[str | None] = "Metadata"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        for topic in response.topics:
            for part in topic.partitions:
                known = self.leaders.get((topic.name or "", part.partition_index))
                if known is not None:
                    part.leader_id, part.leader_epoch = known
        return response

    def __str__(self) -> str:
        return "name old leaders"


@dataclass(frozen=True)
class Assign(Action):
    """Puts other shares in the place of those that a leader hands out."""

    change: Change
    only_for: ClassVar[str | None] = "SyncGroup"

    def act(self, exchange: Exchange, response: Any, chance: Random) -> Any:
        """See `Action`."""
        request: SyncGroupRequest = exchange.request
        if request.assignments:  # only the leader's has any
            shares = self.change.change({each.member_id: each.assignment for each in request.assignments})
            exchange.request = replace(
                request,
                assignments=tuple(
                    SyncGroupRequestAssignment(member_id=member_id, assignment=share)
                    for member_id, share in shares.items()
                ),
            )
        return ON

    def __str__(self) -> str:
        return f"assign {self.change.words}"
