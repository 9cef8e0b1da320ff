"""A member of a classic group (classic-groups §2.1)."""

from sys import intern
from typing import Final

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.shared_values import Protocols, shared_protocols, shared_timeout
from kohort.purgatory import DelayedOperation

NO_ASSIGNMENT: Final = b""


class Answered:
    """Ticket of a request that was answered although its member still counts as waiting."""


ANSWERED: Final = Answered()


class Member:
    """A member of a group.

    Client id and host are those of its first JoinGroup, even if other connections send for it later.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "join_ticket",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
        "stats",
        "sync_ticket",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = NO_ASSIGNMENT,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = intern(client_id)
        self.client_host = intern(client_host)
        self.rebalance_timeout_ms = shared_timeout(rebalance_timeout_ms)
        self.session_timeout_ms = shared_timeout(session_timeout_ms)
        self.protocols = shared_protocols(protocols)
        self.assignment = assignment
        self.is_new = False  # has not completed a join phase yet
        self.join_ticket: object | None = None  # the waiting JoinGroup
        self.sync_ticket: object | None = None  # the waiting SyncGroup
        self.session: DelayedOperation | None = None  # removes the member when it is silent (`sessions.py`)
        self.stats: MemberStats | None = None  # sums of its heartbeats and commits, if events are needed

    @property
    def satisfies_heartbeat(self) -> bool:
        """Whether the member need not send heartbeats because its join or sync waits.

        A new member has to join within a fixed time instead (classic-groups §6.3).
        """
        return not self.is_new and (self.join_ticket is not None or self.sync_ticket is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the metadata for a protocol, empty if the member does not list it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def cause(self, name: str, reason: str = "") -> Cause:
        return Cause(name, self.member_id, self.client_id, self.client_host, reason)
