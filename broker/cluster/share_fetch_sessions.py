"""Share sessions: what a member of a share group fetches is remembered between its requests (KIP-932).

A session belongs to a member of a group, and ends with the connection that opened it. A node keeps
`group.share.max.share.sessions` of them; others wait and are refused. Source: Kafka's `ShareSessionCache`,
`SharePartitionManager.newContext`; share-groups §7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kohort.protocol.messages.share_fetch import FetchTopic, ForgottenTopic

    Which = tuple[UUID | None, int]
    """A topic's id and the index of a partition."""

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_LARGEST_EPOCH: Final = 2**31 - 1

PARTITIONS_REMEMBERED: Final = 100_000
"""All sessions of a node together remember at most this many partitions: about 20 MB. Kafka has no such limit."""


class ShareSession:
    """What one member fetches, in the order in which it is read."""

    __slots__ = ("closed", "connection", "epoch", "group_id", "member_id", "partitions")

    def __init__(self, group_id: str, member_id: str, connection: object) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection = connection
        """Who opened it; it ends with that."""
        self.epoch = 1
        """What the next request has to say."""
        self.partitions: dict[Which, bool] = {}
        """Each with whether the next answer must name it: it is new, or had an error."""
        self.closed = False

    def begin(self, topics: Iterable[FetchTopic]) -> None:
        """Adds what the first request names. Its answer tells of all that were read, later ones of news only."""
        for topic in topics:
            for part in topic.partitions:
                self.partitions[topic.topic_id, part.partition_index] = False

    def update(self, topics: Iterable[FetchTopic], forgotten: Iterable[ForgottenTopic]) -> None:
        """Adds what a later request names, of which the next answer tells, and forgets what it wants forgotten."""
        for topic in topics:
            for part in topic.partitions:
                self.partitions.setdefault((topic.topic_id, part.partition_index), True)
        for gone in forgotten:
            for index in gone.partitions:
                self.partitions.pop((gone.topic_id, index), None)

    def end_epoch(self) -> None:
        """A request of this epoch has come; the next one must have the next."""
        self.epoch = self.epoch + 1 if self.epoch < _LARGEST_EPOCH else 1

    def in_turn(self) -> list[Which]:
        """Its partitions, each request beginning with another one."""
        partitions = list(self.partitions)
        if not partitions:
            return partitions
        first = (self.epoch - 1) % len(partitions)
        return partitions[first:] + partitions[:first]

    def is_news(self, which: Which, *, failed: bool, has_records: bool) -> bool:
        """Whether an answer must name a partition. One with records is read after the others from then on."""
        if which not in self.partitions:
            return failed or has_records
        news = self.partitions[which] or failed or has_records
        if has_records:
            del self.partitions[which]
        self.partitions[which] = failed
        return news


class ShareSessions:
    """The sessions of a node."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._of_groups: dict[str, int] = {}
        """How many sessions each group has."""
        self._of_connections: dict[object, dict[ShareSession, None]] = {}
        """In the order in which they were opened."""
        self._left_on: dict[object, ShareSession] = {}
        """By connection, who closed a session on it last, as a session without partitions."""
        self._remembered = 0

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    def has_group(self, group_id: str) -> bool:
        """Whether a group has a session here."""
        return group_id in self._of_groups

    def of_group(self, group_id: str) -> list[ShareSession]:
        """The sessions of a group's members."""
        return (
            [each for each in self._sessions.values() if each.group_id == group_id] if self.has_group(group_id) else []
        )

    def open(self, group_id: str, member_id: str, connection: object, size: int) -> ShareSession | ErrorCode:
        """A new session in the place of the member's old one, whose records stay held.

        `size`: how many partitions it is to remember. SHARE_SESSION_LIMIT_REACHED.
        """
        old = self.of_member(group_id, member_id)
        if old is not None:
            self.close(old)
        if len(self._sessions) >= self._limit or self._remembered + size > PARTITIONS_REMEMBERED:
            return ErrorCode.share_session_limit_reached
        session = ShareSession(group_id, member_id, connection)
        self._sessions[group_id, member_id] = session
        self._of_groups[group_id] = self._of_groups.get(group_id, 0) + 1
        self._of_connections.setdefault(connection, {})[session] = None
        return session

    def of_member(self, group_id: str, member_id: str) -> ShareSession | None:
        """The session that a member has."""
        return self._sessions.get((group_id, member_id))

    def find(self, group_id: str, member_id: str, epoch: int) -> ShareSession | ErrorCode:
        """The member's session. SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH; FINAL_EPOCH fits any."""
        session = self.of_member(group_id, member_id)
        if session is None:
            return ErrorCode.share_session_not_found
        if epoch not in (FINAL_EPOCH, session.epoch):
            return ErrorCode.invalid_share_session_epoch
        return session

    def begin(self, session: ShareSession, topics: Iterable[FetchTopic]) -> None:
        """See `ShareSession.begin`."""
        session.begin(topics)
        self._remembered += len(session.partitions)

    def update(self, session: ShareSession, topics: Iterable[FetchTopic], forgotten: Iterable[ForgottenTopic]) -> None:
        """See `ShareSession.update`."""
        before = len(session.partitions)
        session.update(topics, forgotten)
        self._remembered += len(session.partitions) - before

    def close(self, session: ShareSession) -> None:
        """Forgets a session, and for one that is closed already that it was on its connection."""
        if session.closed:
            self._left_on.pop(session.connection, None)
            return
        session.closed = True
        left_on = self._left_on[session.connection] = ShareSession(
            session.group_id, session.member_id, session.connection
        )
        left_on.closed = True
        del self._sessions[session.group_id, session.member_id]
        self._remembered -= len(session.partitions)
        left = self._of_groups.pop(session.group_id) - 1
        if left:
            self._of_groups[session.group_id] = left
        others = self._of_connections[session.connection]
        del others[session]
        if not others:
            del self._of_connections[session.connection]

    def of_connection(self, connection: object) -> list[ShareSession]:
        """The sessions that were opened on a connection, and the last one that was closed there, without partitions.

        With its connection goes what is known of a group that has no sessions, though they were closed before.
        """
        left = self._left_on.get(connection)
        return [*self._of_connections.get(connection, ()), *([left] if left is not None else [])]

    def clear(self) -> None:
        """Ends all: the node has stopped."""
        for session in list(self._sessions.values()):
            self.close(session)
        self._left_on.clear()
