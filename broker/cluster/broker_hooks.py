"""Where something may come between a broker and what it does: the one way in for the laboratory of `control/`.

A broker that nobody experiments with has the one below, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from kohort.broker.cluster.replay import Replay
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.context import CoordinatorContext
    from kohort.coordinator.effects import Append
    from kohort.protocol.errors import ErrorCode
    from kohort.purgatory import DelayedOperation
    from kohort.security.rights import Right
    from kohort.storage.topic import Partition, Topic

Handler = Callable[[Any, Any, "Ticket"], Any]
"""Handles a request that came to a `Node`, which is not named here: it knows the hooks.

Returns the response, None (it is answered later), NO_REPLY, or a generator that returns these."""

Report = Callable[[int], None]
"""Reports to a coordinator that its write is done; called with the time."""


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerHooks:
    """Lets everything happen as it would. To change that, override a method and set `BrokerCluster.hooks`."""

    # Requests

    def handle(self, node: Any, request: Any, ticket: Ticket) -> Any:
        """Handles a request; returns what its handler returns. Who puts itself in the place of `ticket.requester` hears
        the answer before the client does, whenever it is ready."""
        return ticket.api.handle(node, request, ticket)

    def denies(self, ticket: Ticket, right: Right, name: str) -> bool:
        """Whether who sent a request is to be without a right that they have; asked where rights are asked for."""
        return False

    # What coordinators write

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> ErrorCode | None:
        """The storage's error instead of a write; None: it is written."""
        return None

    def holds(self, effect: Append, report: Report) -> bool:
        """Whether the outcome of a write is reported later, by calling `report`."""
        return False

    # Leaders that coordinate

    def hides_loss(self, topic: Topic, partition: Partition) -> bool:
        """Whether the leader of a coordinated partition does not hear that it is about to lose it."""
        return False

    def elected(self, topic: Topic, partition: Partition, now_ms: int) -> None:
        """A coordinated partition has another leader, which is about to take over."""

    def holds_load(self, replay: Replay) -> bool:
        """Whether a load that has read everything does not end yet; `Replays.release` ends it."""
        return False

    # Fetches

    def fetch_waits(self, operation: DelayedOperation) -> None:
        """A fetch is about to wait for records, until `operation.deadline_ms`."""


NO_HOOKS: Final = BrokerHooks()
