"""A member of a group as its client knows it, without a connection: what it says, and what it makes of the answers.

There are two: `ClassicMember` and `ConsumerMember`. Both do what a client library does. Whoever drives one brings its
requests to a broker, and the answers back:

    said = member.next()
    said.hear(wire.asks(said.api, VERSIONS[said.api], **said.fields))

What differs on purpose (a member that crashes, lies, or takes its time) is the driver's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic
from tests.support.frames import to_commit

ELSEWHERE = (E.not_coordinator, E.coordinator_not_available, E.coordinator_load_in_progress)
"""Somebody else is to be asked, or later. Nothing else has changed for the member."""
JOINING = (E.none, E.member_id_required, *ELSEWHERE)
"""What a member may be answered that joins a group of its own."""
LATER = (
    E.unknown_topic_or_partition, E.unstable_offset_commit, E.unknown_server_error, E.kafka_storage_error,
)  # fmt: skip
"""What has become of an offset is not known: the member tries again."""
VERSIONS = {
    "join_group": 9, "sync_group": 5, "heartbeat": 4, "leave_group": 5, "consumer_group_heartbeat": 1,
    "offset_commit": 9, "offset_fetch": 9,
}  # fmt: skip
"""The newest in which a topic has a name."""

Owned = set[tuple[UUID, int]]


class Said(NamedTuple):
    """A request."""

    api: str
    fields: dict[str, Any]
    hear: Callable[[Any], E]
    """What the member makes of the answer; returns its error."""


class Topics(Protocol):
    """What a client knows of topics."""

    def name_of(self, topic_id: UUID) -> str:
        """The name of a topic, also of one that is gone."""
        ...

    def topic_ids(self) -> dict[str, UUID]:
        """The topics that there are, by name."""
        ...

    def partitions_of(self, name: str) -> int:
        """How many a topic has; 0: it is not there."""
        ...


class NoTopics:
    """For members that nobody gives anything."""

    def name_of(self, topic_id: UUID) -> str:
        raise KeyError(topic_id)

    def topic_ids(self) -> dict[str, UUID]:
        return {}

    def partitions_of(self, name: str) -> int:
        return 0


@dataclass(eq=False)
class GroupMember:
    """What both have."""

    name: str
    """The client id."""
    group_id: str = "g"
    names: tuple[str, ...] = ()
    """The topics it subscribes to."""
    topics: Topics = field(default_factory=NoTopics)
    instance: str | None = None
    rebalance_ms: int = 30_000
    member_id: str = ""
    owned: Owned = field(default_factory=set)
    """What it consumes now, as far as it knows."""
    positions: dict[tuple[UUID, int], int] = field(default_factory=dict)
    """Where it is in what it owns, if it has found out."""

    @property
    def epoch(self) -> int:
        """Or generation; 0 or less: it is not in the group."""
        raise NotImplementedError

    def next(self) -> Said:
        """What its client says next, when nothing is to be committed."""
        raise NotImplementedError

    def leave(self) -> Said:
        """Leaves for good."""
        raise NotImplementedError

    def forget(self) -> None:
        """It crashes: what acts next is a new process."""
        raise NotImplementedError

    def is_cut_off(self) -> None:
        """The answer to its last request will not come."""

    def is_refused(self, error: E) -> None:
        """A commit or a fetch of offsets was refused."""

    def gives_up(self, gone: Owned) -> None:
        """It does not consume these any more."""
        self.owned = self.owned - gone
        self.positions = {at: offset for at, offset in self.positions.items() if at in self.owned}

    def commit(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        epoch: int | None = None,
        metadata: str | None = "",
        topic_id: UUID | None = None,
        retention_ms: int = -1,
    ) -> Said:
        """Commits one offset. `epoch`: in place of its own."""
        fields = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "generation_id_or_member_epoch": self.epoch if epoch is None else epoch,
            "group_instance_id": self.instance,
            "topics": to_commit(topic, {partition: offset}, metadata, topic_id),
            "retention_time_ms": retention_ms,
        }

        def heard(response: Any) -> E:
            error: E = response.topics[0].partitions[0].error_code
            return error if epoch is not None else self._heard_of_offsets(error)

        return Said("offset_commit", fields, heard)

    def fetch_offsets(self, partitions: Owned) -> Said:
        """Asks where its group is in partitions that it owns; what is not told stays unknown."""
        topics = tuple(
            OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
            for name, indexes in self.by_name(partitions).items()
        )
        asked = OffsetFetchRequestGroup(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch, topics=topics
        )

        def heard(response: Any) -> E:
            (group,) = response.groups
            ids = self.topics.topic_ids()
            for topic in group.topics:
                for each in topic.partitions:
                    if topic.name in ids and (at := (ids[topic.name], each.partition_index)) in partitions & self.owned:
                        self.fetched(at, each.committed_offset)
            return self._heard_of_offsets(group.error_code)

        return Said("offset_fetch", {"groups": (asked,), "require_stable": True}, heard)

    def fetched(self, at: tuple[UUID, int], offset: int) -> None:
        """Where its group is; -1: nobody has said."""
        self.positions[at] = max(offset, 0)

    def _heard_of_offsets(self, error: E) -> E:
        if error not in (E.none, *ELSEWHERE, *LATER):
            self.is_refused(error)
        return error

    def by_name(self, partitions: Owned) -> dict[str, tuple[int, ...]]:
        """Indexes by the names of topics."""
        by_name: dict[str, tuple[int, ...]] = {}
        for topic_id, partition in sorted(partitions):
            name = self.topics.name_of(topic_id)
            by_name[name] = (*by_name.get(name, ()), partition)
        return by_name
