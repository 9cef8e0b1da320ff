"""A member of a classic group (classic-groups §2.1)."""

from sys import intern
from typing import Final

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.shared_values import Protocols, shared_protocols, shared_timeout
from kohort.purgatory import DelayedOperation

NO_ASSIGNMENT: Final = b""


class Nobody:
    """Stands for the ticket of a request that is answered already, while its member still counts as waiting."""


NOBODY: Final = Nobody()


class Member:
    """One consumer. Client id and host are those of its first join, whoever speaks for it later."""

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
        self.is_new = False
        """Has not yet taken part in a completed join phase."""
        self.join_ticket: object | None = None
        """The JoinGroup that waits, if one does."""
        self.sync_ticket: object | None = None
        """The SyncGroup that waits, if one does."""
        self.session: DelayedOperation | None = None
        """The timer that removes it when it stays silent (`sessions.py`)."""
        self.stats: MemberStats | None = None
        """Its heartbeats and commits in sums, while somebody listens."""

    @property
    def satisfies_heartbeat(self) -> bool:
        """A member whose join or sync waits need not beat; a new one is only given its time (classic-groups §6.3)."""
        return not self.is_new and (self.join_ticket is not None or self.sync_ticket is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Its metadata for the named protocol; empty where it does not list it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def cause(self, name: str, reason: str = "") -> Cause:
        """This member as the one who brings a change about."""
        return Cause(name, self.member_id, self.client_id, self.client_host, reason)
