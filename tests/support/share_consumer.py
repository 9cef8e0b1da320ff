"""Member of a share group without a connection (KIP-932).

It has a share session at each leader that it fetches from. The driver passes its requests to a broker, and the
responses
back; see `group_member.py`. The driver also decides which partitions it fetches and how it acknowledges records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.share_acknowledge import AcknowledgePartition, AcknowledgeTopic
from kohort.protocol.messages.share_acknowledgements import AcknowledgementBatch
from kohort.protocol.messages.share_fetch import FetchPartition, FetchTopic, ForgottenTopic
from kohort.whatif.clients.group_member import Owned, Said

At = tuple[UUID, int]  # a topic id and a partition
Words = Mapping[At, Mapping[int, int]]  # acknowledgement types of records, by partition and offset

SHARE_VERSIONS = {"share_group_heartbeat": 1, "share_fetch": 2, "share_acknowledge": 2}
# The member is not in the group any longer, and joins again
OUT = (E.unknown_member_id, E.fenced_member_epoch, E.group_id_not_found)
# The next request to that leader opens a session
NO_SESSION = (E.share_session_not_found, E.invalid_share_session_epoch, E.share_session_limit_reached)
NOTHING: Words = {}
FINAL_EPOCH = -1


class Delivered(NamedTuple):
    """Acquired offsets, and their delivery count."""

    at: At
    first_offset: int
    last_offset: int
    deliveries: int


@dataclass
class Session:
    """A leader's session of a member, as the member knows it."""

    epoch: int = 0
    partitions: Owned = field(default_factory=set)


@dataclass(eq=False)
class ShareConsumer:
    name: str  # the client id
    group_id: str
    member_id: str
    names: tuple[str, ...] = ()
    epoch: int = 0  # 0 if it is not in the group
    owned: Owned = field(default_factory=set)  # the last assignment received
    sessions: dict[int, Session] = field(default_factory=dict)  # by node

    def __str__(self) -> str:
        return f"{self.name}({self.group_id} {self.epoch})"

    # Requests to the coordinator

    def beat(self, **changes: Any) -> Said:
        """Return a heartbeat, which joins the group if the member is not in it."""
        names = None if self.epoch else self.names
        fields = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        return Said("share_group_heartbeat", {**fields, "subscribed_topic_names": names, **changes}, self._has_beaten)

    def leave(self) -> Said:
        """Leave the group. It keeps its acquired records."""
        return self.beat(member_epoch=FINAL_EPOCH)

    def _has_beaten(self, response: Any) -> E:
        error: E = response.error_code
        if error in OUT or (error is E.none and response.member_epoch < 0):
            self.epoch, self.owned = 0, set()
        elif error is E.none:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                given = response.assignment.topic_partitions
                self.owned = {(entry.topic_id, number) for entry in given for number in entry.partitions}
        return error

    # Requests to leaders

    def fetch(self, node: int, wanted: Owned, words: Words = NOTHING, **limits: Any) -> Said:
        """Fetch from partitions of one leader. A new session accepts no acknowledgements, which are left out."""
        session = self.sessions.setdefault(node, Session())
        said = words if session.epoch else NOTHING
        known = session.partitions if session.epoch else set()
        added = wanted - known
        named = {topic_id: sorted({at[1] for at in (*added, *said) if at[0] == topic_id}) for topic_id, _ in wanted}
        topics = tuple(
            FetchTopic(topic_id=topic_id, partitions=tuple(_partition(said, (topic_id, index)) for index in indexes))
            for topic_id, indexes in named.items()
            if indexes
        )
        fields = {
            "group_id": self.group_id, "member_id": self.member_id, "share_session_epoch": session.epoch,
            "max_wait_ms": 0, "min_bytes": 1, "max_records": 500, "batch_size": 500, "topics": topics,
            "forgotten_topics_data": _forgotten(known - wanted),
        }  # fmt: skip
        session.partitions = set(wanted)
        return Said("share_fetch", {**fields, **limits}, self._session_heard(node))

    def acknowledge(self, node: int, words: Words, *, renews: bool = False, epoch: int | None = None) -> Said:
        """Acknowledge records.

        Args:
            epoch: Replaces the epoch of the session.
        """
        session = self.sessions.setdefault(node, Session())
        topics: dict[UUID, list[AcknowledgePartition]] = {}
        for (topic_id, index), types in words.items():
            part = AcknowledgePartition(partition_index=index, acknowledgement_batches=_batches(types))
            topics.setdefault(topic_id, []).append(part)
        fields = {
            "group_id": self.group_id, "member_id": self.member_id, "is_renew_ack": renews,
            "share_session_epoch": session.epoch if epoch is None else epoch,
            "topics": tuple(AcknowledgeTopic(topic_id=topic, partitions=tuple(topics[topic])) for topic in topics),
        }  # fmt: skip
        return Said("share_acknowledge", fields, self._session_heard(node))

    def close(self, node: int, words: Words = NOTHING) -> Said:
        """Close its session at a leader, which releases the records acquired there."""
        said = self.acknowledge(node, words, epoch=FINAL_EPOCH)
        self.is_cut_off(node)
        return said

    def _session_heard(self, node: int) -> Callable[[Any], E]:
        def heard(response: Any) -> E:
            error: E = response.error_code
            session = self.sessions.get(node)
            if session is not None and error in (E.none, *NO_SESSION):
                session.epoch += 1
                if error is not E.none:
                    del self.sessions[node]
            return error

        return heard

    def is_cut_off(self, node: int) -> None:
        """Record that the session at a leader is lost, because its connection was closed."""
        self.sessions.pop(node, None)


def delivered(response: Any) -> Iterator[Delivered]:
    """Yield the records that a ShareFetch response delivers."""
    for topic in response.responses:
        for part in topic.partitions:
            at = topic.topic_id, part.partition_index
            for acquired_record in part.acquired_records:
                yield Delivered(
                    at, acquired_record.first_offset, acquired_record.last_offset, acquired_record.delivery_count
                )


def outcomes(said: Said, response: Any) -> Iterator[tuple[At, E]]:
    """Yield the results of acknowledgements by partition, for partitions in the response."""
    for topic in response.responses:
        for part in topic.partitions:
            error = part.acknowledge_error_code if said.api == "share_fetch" else part.error_code
            yield (topic.topic_id, part.partition_index), E(error)


def _partition(words: Words, at: At) -> FetchPartition:
    return FetchPartition(partition_index=at[1], acknowledgement_batches=_batches(words.get(at, {})))


def _batches(types: Mapping[int, int]) -> tuple[AcknowledgementBatch, ...]:
    """Group consecutive offsets into batches, with one type per offset, or a single type if all are equal."""
    batches = []
    for _, numbered in groupby(enumerate(sorted(types)), lambda pair: pair[1] - pair[0]):
        offsets = [offset for _, offset in numbered]
        kinds = [types[offset] for offset in offsets]
        alike = kinds[:1] if len(set(kinds)) == 1 else kinds
        batches.append(
            AcknowledgementBatch(first_offset=offsets[0], last_offset=offsets[-1], acknowledge_types=tuple(alike))
        )
    return tuple(batches)


def _forgotten(partitions: Iterable[At]) -> tuple[ForgottenTopic, ...]:
    indexes: dict[UUID, list[int]] = {}
    for topic_id, index in sorted(partitions):
        indexes.setdefault(topic_id, []).append(index)
    return tuple(ForgottenTopic(topic_id=index, partitions=tuple(indexes[index])) for index in indexes)
