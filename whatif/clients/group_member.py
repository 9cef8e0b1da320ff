"""A group member without a connection: its requests, and its reaction to responses, like a client library.

There are `ClassicMember` and `ConsumerMember`. The driver of a member passes the requests of `next` to a broker, and
the responses back.

Intended deviations, such as a member that crashes, lies or is slow, belong to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic

# Retry with another coordinator or later; the state of the member is unchanged
ELSEWHERE = (E.not_coordinator, E.coordinator_not_available, E.coordinator_load_in_progress)
JOINING = (E.none, E.member_id_required, *ELSEWHERE)  # valid errors for a member that joins a group alone
# The result of a commit is unknown, and the member retries
LATER = (
    E.unknown_topic_or_partition, E.unstable_offset_commit, E.unknown_server_error, E.kafka_storage_error,
)  # fmt: skip
# The newest versions in which topics have names
VERSIONS = {
    "join_group": 9, "sync_group": 5, "heartbeat": 4, "leave_group": 5, "consumer_group_heartbeat": 1,
    "offset_commit": 9, "offset_fetch": 9,
}  # fmt: skip

Owned = set[tuple[UUID, int]]


class Said(NamedTuple):
    """A request."""

    api: str
    fields: dict[str, Any]
    hear: Callable[[Any], E]  # applies the response to the member and returns its error


class Topics(Protocol):
    """Topics as a client knows them."""

    def name_of(self, topic_id: UUID) -> str:
        """Return the name of a topic, even if it was deleted."""
        ...

    def topic_ids(self) -> dict[str, UUID]:
        """Return the ids of the existing topics by name."""
        ...

    def partitions_of(self, name: str) -> int:
        """Return the number of partitions of a topic, or 0 if it does not exist."""
        ...


class NoTopics:
    """Topics for members without an assignment."""

    def name_of(self, topic_id: UUID) -> str:
        raise KeyError(topic_id)

    def topic_ids(self) -> dict[str, UUID]:
        return {}

    def partitions_of(self, name: str) -> int:
        return 0


@dataclass(eq=False)
class GroupMember:
    """Common part of both members."""

    name: str  # the client id
    group_id: str = "g"
    names: tuple[str, ...] = ()  # the topics it subscribes to
    topics: Topics = field(default_factory=NoTopics)
    instance: str | None = None
    rebalance_ms: int = 30_000
    member_id: str = ""
    owned: Owned = field(default_factory=set)  # partitions it consumes, as far as it knows
    # Offsets of owned partitions, if it has queried them
    positions: dict[tuple[UUID, int], int] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """The epoch or generation; 0 or less if it is not in the group."""
        raise NotImplementedError

    def next(self) -> Said:
        """Return the next request of the client, except for commits."""
        raise NotImplementedError

    def leave(self) -> Said:
        """Leave the group permanently."""
        raise NotImplementedError

    def forget(self) -> None:
        """Forget its state, as after a crash: the next action is that of a new process."""
        raise NotImplementedError

    def is_cut_off(self) -> None:
        """Record that the response of the last request is lost."""

    def is_refused(self, error: E) -> None:
        """Apply the error of a commit or of a fetch of offsets."""

    def gives_up(self, gone: Owned) -> None:
        """Stop consuming these partitions."""
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
        """Commit one offset.

        Args:
            epoch: Replaces the member's own epoch.
        """
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

    def commit_all(self, topic: str, offsets: Mapping[int, int]) -> Said:
        """Commit offsets of several partitions of a topic. The error is that of the first one."""
        fields = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "generation_id_or_member_epoch": self.epoch,
            "group_instance_id": self.instance,
            "topics": to_commit(topic, offsets),
            "retention_time_ms": -1,
        }
        return Said("offset_commit", fields, lambda response: response.topics[0].partitions[0].error_code)

    def fetch_offsets(self, partitions: Owned) -> Said:
        """Request the committed offsets of owned partitions; those without a response stay unknown."""
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
                for part in topic.partitions:
                    if topic.name in ids and (at := (ids[topic.name], part.partition_index)) in partitions & self.owned:
                        self.fetched(at, part.committed_offset)
            return self._heard_of_offsets(group.error_code)

        return Said("offset_fetch", {"groups": (asked,), "require_stable": True}, heard)

    def fetched(self, at: tuple[UUID, int], offset: int) -> None:
        """Apply a committed offset; -1 means that none was committed."""
        self.positions[at] = max(offset, 0)

    def _heard_of_offsets(self, error: E) -> E:
        if error not in (E.none, *ELSEWHERE, *LATER):
            self.is_refused(error)
        return error

    def by_name(self, partitions: Owned) -> dict[str, tuple[int, ...]]:
        """Return partition indexes by topic name."""
        by_name: dict[str, tuple[int, ...]] = {}
        for topic_id, partition in sorted(partitions):
            name = self.topics.name_of(topic_id)
            by_name[name] = (*by_name.get(name, ()), partition)
        return by_name


def to_commit(
    topic: str, offsets: Mapping[int, int], metadata: str | None = "", topic_id: UUID | None = None
) -> tuple[OffsetCommitRequestTopic, ...]:
    """Return the only topic of an OffsetCommit request, with its offsets by partition."""
    parts = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)
        for index, offset in offsets.items()
    )
    return (OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=parts),)
