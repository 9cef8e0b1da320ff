"""One node of the cluster: its id, its port, its group coordinator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kohort.broker.ticket import Ticket

if TYPE_CHECKING:
    from kohort.broker.cluster import Cluster
    from kohort.coordinator.effects import Effect
    from kohort.protocol.errors import ErrorCode


class Coordinator(Protocol):
    """What the shell asks of a group coordinator beside its APIs.

    What it wants done it adds to `effects`; the shell does it after each request and each tick (effects.py).
    """

    effects: list[Effect]

    def load(self, partition: int, batches: Iterable[bytes | memoryview], now_ms: int) -> None:
        """Takes over a partition of the offsets topic; `batches` is what its log holds."""
        ...

    def unload(self, partition: int, now_ms: int) -> None:
        """Gives a partition up."""
        ...

    def appended(self, token: int, error: ErrorCode, now_ms: int) -> None:
        """The records of the `Append` with this token are written (NONE), or `error` says why they are not."""
        ...


class Node:
    """A broker of the cluster. Nodes share everything but their coordinator and their port."""

    __slots__ = ("cluster", "coordinator", "id", "port")

    def __init__(self, cluster: Cluster, node_id: int) -> None:
        self.id = node_id
        self.cluster = cluster
        self.port = 0
        """Where it listens; known once it does."""
        self.coordinator: Coordinator | None = None

    def address_for(self, ticket: Ticket) -> tuple[str, int]:
        """Host and port under which the client that holds `ticket` reaches this node.

        The host is the one the client dialled, unless `--advertise` names another: whoever reached one node reaches
        the others in the same way.
        """
        return self.cluster.advertise or ticket.listener[0], self.port
