"""A member of a share group as its client knows it, without a connection (KIP-932).

It has a share session at each leader that it fetches from. Whoever drives one brings its requests to a broker, and the
answers back; see `group_member.py`. What it fetches, and what it says of records, the driver decides.
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
from tests.support.group_member import Owned, Said

At = tuple[UUID, int]
"""A topic's id and a partition."""
Words = Mapping[At, Mapping[int, int]]
"""What a member says of records: by partition and offset the type."""

SHARE_VERSIONS = {"share_group_heartbeat": 1, "share_fetch": 2, "share_acknowledge": 2}
OUT = (E.unknown_member_id, E.fenced_member_epoch, E.group_id_not_found)
"""It is no member any more, and joins again."""
NO_SESSION = (E.share_session_not_found, E.invalid_share_session_epoch, E.share_session_limit_reached)
"""Its next request at that leader opens a session."""
NOTHING: Words = {}
FINAL_EPOCH = -1


class Delivered(NamedTuple):
    """Offsets that a member holds now, and how often they were delivered with that."""

    at: At
    first_offset: int
    last_offset: int
    deliveries: int


@dataclass
class Session:
    """What a leader remembers of a member, as far as the member knows."""

    epoch: int = 0
    partitions: Owned = field(default_factory=set)


@dataclass(eq=False)
class ShareConsumer:
    """See above."""

    name: str
    """The client id."""
    group_id: str
    member_id: str
    names: tuple[str, ...] = ()
    epoch: int = 0
    """0: it is not in the group."""
    owned: Owned = field(default_factory=set)
    """What it was last told to fetch from."""
    sessions: dict[int, Session] = field(default_factory=dict)
    """By node."""

    def __str__(self) -> str:
        return f"{self.name}({self.group_id} {self.epoch})"

    # What it says to its coordinator

    def beat(self, **changes: Any) -> Said:
        """A heartbeat; one that is not in the group joins."""
        names = None if self.epoch else self.names
        fields = {"group_id": self.group_id, "member_id": self.member_id, "member_epoch": self.epoch}
        return Said("share_group_heartbeat", {**fields, "subscribed_topic_names": names, **changes}, self._has_beaten)

    def leave(self) -> Said:
        """Leaves the group. Records that it holds stay its own."""
        return self.beat(member_epoch=FINAL_EPOCH)

    def _has_beaten(self, response: Any) -> E:
        error: E = response.error_code
        if error in OUT or (error is E.none and response.member_epoch < 0):
            self.epoch, self.owned = 0, set()
        elif error is E.none:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                given = response.assignment.topic_partitions
                self.owned = {(each.topic_id, number) for each in given for number in each.partitions}
        return error

    # What it says to leaders

    def fetch(self, node: int, wanted: Owned, words: Words = NOTHING, **limits: Any) -> Said:
        """Fetches from partitions of one leader. A session that has just begun takes no words: they are left out."""
        session = self.sessions.setdefault(node, Session())
        said = words if session.epoch else NOTHING
        known = session.partitions if session.epoch else set()
        added = wanted - known
        named = {topic_id: sorted({at[1] for at in (*added, *said) if at[0] == topic_id}) for topic_id, _ in wanted}
        topics = tuple(
            FetchTopic(topic_id=topic_id, partitions=tuple(_partition(said, (topic_id, each)) for each in indexes))
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
        """Says what has become of records. `epoch`: in place of the session's."""
        session = self.sessions.setdefault(node, Session())
        topics: dict[UUID, list[AcknowledgePartition]] = {}
        for (topic_id, index), types in words.items():
            part = AcknowledgePartition(partition_index=index, acknowledgement_batches=_batches(types))
            topics.setdefault(topic_id, []).append(part)
        fields = {
            "group_id": self.group_id, "member_id": self.member_id, "is_renew_ack": renews,
            "share_session_epoch": session.epoch if epoch is None else epoch,
            "topics": tuple(AcknowledgeTopic(topic_id=each, partitions=tuple(topics[each])) for each in topics),
        }  # fmt: skip
        return Said("share_acknowledge", fields, self._session_heard(node))

    def close(self, node: int, words: Words = NOTHING) -> Said:
        """Ends its session at a leader: what it still holds there others may have."""
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
        """It has no session at a leader any more: the connection on which it was opened has ended."""
        self.sessions.pop(node, None)


def delivered(response: Any) -> Iterator[Delivered]:
    """What an answer to a ShareFetch gives its member."""
    for topic in response.responses:
        for part in topic.partitions:
            at = topic.topic_id, part.partition_index
            for each in part.acquired_records:
                yield Delivered(at, each.first_offset, each.last_offset, each.delivery_count)


def outcomes(said: Said, response: Any) -> Iterator[tuple[At, E]]:
    """What came of the words of a request, by partition; only of those of which the answer says anything."""
    for topic in response.responses:
        for part in topic.partitions:
            error = part.acknowledge_error_code if said.api == "share_fetch" else part.error_code
            yield (topic.topic_id, part.partition_index), E(error)


def _partition(words: Words, at: At) -> FetchPartition:
    return FetchPartition(partition_index=at[1], acknowledgement_batches=_batches(words.get(at, {})))


def _batches(types: Mapping[int, int]) -> tuple[AcknowledgementBatch, ...]:
    """Offsets that follow one another are a batch, with a type for each, or one for all if they are alike."""
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
    return tuple(ForgottenTopic(topic_id=each, partitions=tuple(indexes[each])) for each in indexes)
