"""Hooks into a broker, used by the laboratory in `control/`. The default below changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from kohort.broker.cluster.replay import Replay
    from kohort.broker.shortcuts import Repeated
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.context import CoordinatorContext
    from kohort.coordinator.effects import Append
    from kohort.protocol.errors import ErrorCode
    from kohort.purgatory import DelayedOperation
    from kohort.security.rights import Right
    from kohort.storage.topic import Partition, Topic

Handler = Callable[[Any, Any, "Ticket"], Any]
"""Handles a request to a `Node`, which cannot be named here because it imports the hooks.

Returns the response, None (it follows later), NO_REPLY, or a generator that returns these.
"""

Report = Callable[[int], None]  # reports to a coordinator that its write is done; called with the time


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerHooks:
    """Hooks without effect. To change something, override a method and set `BrokerCluster.hooks`."""

    # Requests

    def handle(self, node: Any, request: Any, ticket: Ticket) -> Any:
        """Handle a request; return what its handler returns.

        A hook that replaces `ticket.requester` gets the response before the client, whenever it is ready.
        """
        return ticket.api.handle(node, request, ticket)

    def find_handler(self, connection: Any, repeated: Repeated) -> Handler | None:
        """Return the handler of a request that its connection repeats, or None to decode it and call `handle`."""
        return None

    def denies(self, ticket: Ticket, right: Right, name: str) -> bool:
        """Return whether the sender of a request is denied a right that it has."""
        return False

    # Writes of coordinators

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> ErrorCode | None:
        """Return a storage error instead of writing, or None to write."""
        return None

    def holds(self, effect: Append, report: Report) -> bool:
        """Return whether the outcome of a write is reported later, by calling `report`."""
        return False

    # Coordinators

    def hides_loss(self, topic: Topic, partition: Partition) -> bool:
        """Return whether the leader of a coordinated partition is not notified that it will lose leadership."""
        return False

    def elected(self, topic: Topic, partition: Partition, now_ms: int) -> None:
        """Observe that a coordinated partition has a new leader, which will load it next."""

    def holds_load(self, replay: Replay) -> bool:
        """Return whether a load that has read everything stays unfinished, until `Replays.release`."""
        return False

    # Fetches

    def fetch_waits(self, operation: DelayedOperation) -> None:
        """Observe that a fetch will wait for records, until `operation.deadline_ms`."""


NO_HOOKS: Final = BrokerHooks()
