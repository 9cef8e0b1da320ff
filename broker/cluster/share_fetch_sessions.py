"""Share sessions: the broker remembers between requests what a member of a share group fetches (KIP-932).

A session belongs to a member of a group, and ends with the connection that opened it. A node keeps
`group.share.max.share.sessions` of them; further ones are rejected. One connection cannot exhaust the limit: when it is
reached, a session of the connection with the most is closed. Source: Kafka's `ShareSessionCache`,
`SharePartitionManager.newContext`; share-groups §7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.coordinator.pace import Pace
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from uuid import UUID

    from kohort.protocol.messages.share_fetch import FetchTopic, ForgottenTopic

    TopicPartition = tuple[UUID | None, int]
    """A topic's id and the index of a partition."""

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_LARGEST_EPOCH: Final = 2**31 - 1

# Maximum number of partitions in all sessions of a node: about 25 MB. Kafka has no such limit.
PARTITIONS_REMEMBERED: Final = 100_000

# Groups without a session whose records a connection keeps in memory, as Kafka does, until it is closed.
GROUPS_KEPT: Final = 100


class ShareSession:
    """The partitions that one member fetches, in the order in which they are read."""

    __slots__ = ("closed", "connection", "epoch", "group_id", "member_id", "partitions", "without_topic")

    def __init__(self, group_id: str, member_id: str, connection: object) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection = connection  # the connection that opened it
        self.epoch = 1  # epoch that the next request must have
        # each with whether the next response must contain it: it is new, or had an error
        self.partitions: dict[TopicPartition, bool] = {}
        self.without_topic: set[TopicPartition] = set()  # partitions whose topics did not exist when they were added
        self.closed = False

    def end_epoch(self) -> None:
        self.epoch = self.epoch + 1 if self.epoch < _LARGEST_EPOCH else 1

    def is_news(self, topic_partition: TopicPartition, *, failed: bool, has_records: bool) -> bool:
        """Return whether a response must contain a partition. One with records is moved behind the others."""
        if topic_partition not in self.partitions:
            return failed or has_records
        news = self.partitions[topic_partition] or failed or has_records
        if has_records:
            del self.partitions[topic_partition]
        self.partitions[topic_partition] = failed
        return news


class _Opened:
    """The sessions that were opened on one connection."""

    __slots__ = ("closed_groups", "remembered", "sessions")

    def __init__(self) -> None:
        self.sessions: dict[ShareSession, None] = {}  # in the order in which they were opened
        self.remembered = 0  # partitions of these sessions
        self.closed_groups: dict[str, None] = {}  # groups whose sessions were closed before the connection


class ShareSessions:
    """The sessions of a node."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._of_groups: dict[str, int] = {}  # how many sessions each group has
        self._of_connections: dict[object, _Opened] = {}
        self._remembered = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def has_group(self, group_id: str) -> bool:
        return group_id in self._of_groups

    def of_group(self, group_id: str) -> list[ShareSession]:
        return (
            [session for session in self._sessions.values() if session.group_id == group_id]
            if self.has_group(group_id)
            else []
        )

    def open(self, group_id: str, member_id: str, connection: object) -> ShareSession | ErrorCode:
        """Return a new session in the place of the member's old one, whose records stay acquired.

        SHARE_SESSION_LIMIT_REACHED if no connection has more sessions than this one would have.
        """
        old = self.of_member(group_id, member_id)
        if old is not None:
            self.close(old)
        opened = self._of_connections.get(connection)
        count = 0 if opened is None else len(opened.sessions)
        if len(self._sessions) >= self._limit:
            largest = max(self._of_connections.values(), key=lambda opened: len(opened.sessions), default=None)
            if largest is None or len(largest.sessions) <= count + 1:
                return ErrorCode.share_session_limit_reached
            self.close(next(iter(largest.sessions)))
        if opened is None:
            opened = self._of_connections[connection] = _Opened()
        session = ShareSession(group_id, member_id, connection)
        self._sessions[group_id, member_id] = session
        self._of_groups[group_id] = self._of_groups.get(group_id, 0) + 1
        opened.sessions[session] = None
        return session

    def of_member(self, group_id: str, member_id: str) -> ShareSession | None:
        return self._sessions.get((group_id, member_id))

    def find(self, group_id: str, member_id: str, epoch: int) -> ShareSession | ErrorCode:
        """Return the member's session. SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH; FINAL_EPOCH fits any."""
        session = self.of_member(group_id, member_id)
        if session is None:
            return ErrorCode.share_session_not_found
        if epoch not in (FINAL_EPOCH, session.epoch):
            return ErrorCode.invalid_share_session_epoch
        return session

    def update(
        self,
        session: ShareSession,
        topics: Iterable[FetchTopic],
        forgotten: Iterable[ForgottenTopic],
        *,
        is_new: bool = False,
    ) -> Generator[None, None, ErrorCode]:
        """Add the partitions that a request names, then remove those that it wants forgotten.

        Yields where others may be served.

        Args:
            is_new: Whether the request opens the session. Its response names all partitions that were read; the next
                response to a later request names those that it has added.

        Returns:
            NONE, or SHARE_SESSION_LIMIT_REACHED; then the session is closed.
        """
        pace, partitions = Pace(), session.partitions
        for topic in topics:
            for part in topic.partitions:
                topic_partition = topic.topic_id, part.partition_index
                if topic_partition not in partitions and not session.closed:
                    if self._remembered >= PARTITIONS_REMEMBERED and not self._make_room(session):
                        self.close(session)
                        return ErrorCode.share_session_limit_reached
                    partitions[topic_partition] = not is_new
                    self._remember(session, 1)
                if pace.add():
                    yield
        for removed in forgotten:
            for index in removed.partitions:
                topic_partition = removed.topic_id, index
                session.without_topic.discard(topic_partition)
                if partitions.pop(topic_partition, None) is not None and not session.closed:
                    self._remember(session, -1)
                if pace.add():
                    yield
        return ErrorCode.none

    def _remember(self, session: ShareSession, count: int) -> None:
        self._remembered += count
        self._of_connections[session.connection].remembered += count

    def _make_room(self, session: ShareSession) -> bool:
        """Close the largest session of the connection that remembers the most, unless it is this session's own."""
        largest = max(self._of_connections.values(), key=lambda opened: opened.remembered)
        if largest is self._of_connections[session.connection]:
            return False
        self.close(max(largest.sessions, key=lambda session: len(session.partitions)))
        return True

    def close(self, session: ShareSession) -> None:
        """Forget a session, unless it is closed already. Its connection remembers the group."""
        if session.closed:
            return
        session.closed = True
        self._remember(session, -len(session.partitions))
        del self._sessions[session.group_id, session.member_id]
        remaining = self._of_groups.pop(session.group_id) - 1
        if remaining:
            self._of_groups[session.group_id] = remaining
        opened = self._of_connections[session.connection]
        del opened.sessions[session]
        opened.closed_groups[session.group_id] = None

    def has_connection(self, connection: object) -> bool:
        """Return whether a session was ever opened on a connection that is open."""
        return connection in self._of_connections

    def connection_closed(self, connection: object) -> tuple[list[ShareSession], list[str]]:
        """Close the sessions of a connection, and forget it.

        Returns:
            The sessions, and the groups of these and of earlier sessions, as far as they have none any more. What is
            known of the records of these groups is to be forgotten.
        """
        opened = self._of_connections.get(connection)
        if opened is None:
            return [], []
        sessions = list(opened.sessions)
        for session in sessions:
            self.close(session)
        del self._of_connections[connection]
        return sessions, [group_id for group_id in opened.closed_groups if not self.has_group(group_id)]

    def oldest_closed_groups(self, connection: object) -> list[str]:
        """Return the groups beyond GROUPS_KEPT whose sessions were closed on an open connection, and forget them."""
        opened = self._of_connections.get(connection)
        groups = [] if opened is None else list(opened.closed_groups)[:-GROUPS_KEPT]
        for group_id in groups:
            del self._of_connections[connection].closed_groups[group_id]
        return [group_id for group_id in groups if not self.has_group(group_id)]

    def clear(self) -> None:
        for session in list(self._sessions.values()):
            self.close(session)
        self._of_connections.clear()
