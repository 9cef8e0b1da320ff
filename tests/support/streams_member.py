"""Member of a streams group without a connection: a thread of Kafka Streams (KIP-1071).

It commits offsets of the topics that its active tasks read; see `group_member.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, KeyValue, Subtopology, TaskIds, Topology
from kohort.whatif.clients.group_member import GroupMember, Said

STREAMS_HEARTBEAT_VERSION = 0
LOST = (E.fenced_member_epoch, E.unknown_member_id, E.group_id_not_found, E.invalid_request)
"""The member loses its tasks and joins again. INVALID_REQUEST stops a thread: it names a task that no longer exists."""

TaskIdSet = set[tuple[str, int]]  # subtopologies and partitions


@dataclass(eq=False)
class StreamsMember(GroupMember):
    topology: Topology = field(default_factory=lambda: Topology(epoch=0, subtopologies=()))
    process_id: str = ""
    rack: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    endpoint: Endpoint | None = None
    member_epoch: int = 0
    active: TaskIdSet = field(default_factory=set)  # running tasks: assigned ones, until they are revoked
    standby: TaskIdSet = field(default_factory=set)
    told_active: TaskIdSet = field(default_factory=set)  # active tasks of the last assignment received
    told_standby: TaskIdSet = field(default_factory=set)
    seen_endpoints: int = 0
    is_full: bool = True  # the next heartbeat contains all fields: the first one, and after an error
    holds_on: bool = False  # it does not revoke tasks
    statuses: tuple[int, ...] = ()  # status codes received last

    @property
    def epoch(self) -> int:
        return self.member_epoch

    @property
    def is_to_let_go(self) -> bool:
        """Whether it runs tasks that have been revoked."""
        return not (self.active <= self.told_active and self.standby <= self.told_standby)

    def next(self) -> Said:
        """Release revoked tasks and return the heartbeat that reports it."""
        lets_go = self.is_to_let_go and not self.holds_on
        if lets_go:
            self.active, self.standby = self.active & self.told_active, set(self.told_standby)
        self.follows_topics()
        if self.epoch <= 0:
            return self.join()
        return self.tell() if self.is_full or lets_go else self.beat()

    def follows_topics(self) -> None:
        """Update the partitions that its active tasks read from the existing topics."""
        now = set(self._read())
        self.gives_up(self.owned - now)
        self.owned = now

    def _read(self) -> Iterable[tuple[Any, int]]:
        ids = self.topics.topic_ids()
        by_id = {subtopology.subtopology_id: subtopology for subtopology in self.topology.subtopologies}
        for subtopology_id, partition in self.active:
            for name in read_by(by_id[subtopology_id]):
                if name in ids and partition < self.topics.partitions_of(name):
                    yield ids[name], partition

    def forget(self) -> None:
        self._loses_everything()

    def is_cut_off(self) -> None:
        """Record that a response was lost: the next heartbeat contains all fields."""
        self.is_full = True

    # Requests

    def beat(self, **changes: Any) -> Said:
        """Return a heartbeat that does not report its tasks."""
        fields: dict[str, Any] = {
            "group_id": self.group_id,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "endpoint_information_epoch": self.seen_endpoints,
        }
        return Said("streams_group_heartbeat", fields | changes, self._heard)

    def tell(self, **changes: Any) -> Said:
        """Return a heartbeat with all fields except the topology."""
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": self.rebalance_ms,
            "process_id": self.process_id,
            "rack_id": self.rack,
            "user_endpoint": self.endpoint,
            "client_tags": tuple(KeyValue(key=key, value=value) for key, value in self.tags.items()),
            "active_tasks": task_ids(self.active),
            "standby_tasks": task_ids(self.standby),
            "warmup_tasks": (),
        }
        return self.beat(**fields | changes)

    def join(self, **changes: Any) -> Said:
        """Join again without tasks."""
        self._loses_everything()
        return self.tell(topology=self.topology, **changes)

    def leave(self, **changes: Any) -> Said:
        return self.beat(member_epoch=-1, **changes)

    # Responses

    def _heard(self, response: Any) -> E:
        error: E = response.error_code
        self.is_full = error is not E.none
        if error in LOST or (error is E.none and response.member_epoch < 0):
            self._loses_everything()
        elif error is E.none:
            self.member_epoch = response.member_epoch
            self.seen_endpoints = response.endpoint_information_epoch
            self.statuses = tuple(status.status_code for status in response.status)
            if response.active_tasks is not None:
                self.told_active, self.told_standby = _tasks(response.active_tasks), _tasks(response.standby_tasks)
                self.active = self.active | self.told_active
                # A task that becomes a copy is closed first, and a copy that becomes the task stops being a copy.
                self.standby = (self.standby | self.told_standby) - self.active
                self.follows_topics()
        return error

    def is_refused(self, error: E) -> None:
        """Apply an error. After a stale epoch the member waits for its next heartbeat."""
        if error in (E.unknown_member_id, E.group_id_not_found):
            self._loses_everything()

    def _loses_everything(self) -> None:
        self.member_epoch, self.is_full, self.statuses = 0, True, ()
        self.active, self.standby, self.told_active, self.told_standby = set(), set(), set(), set()
        self.gives_up(self.owned)


def read_by(subtopology: Subtopology) -> tuple[str, ...]:
    """Return the topics that a subtopology reads."""
    return (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))


def task_ids(tasks: TaskIdSet) -> tuple[TaskIds, ...]:
    """Convert tasks to the format of a request."""
    by_id: dict[str, list[int]] = {}
    for subtopology_id, partition in sorted(tasks):
        by_id.setdefault(subtopology_id, []).append(partition)
    return tuple(TaskIds(subtopology_id=item, partitions=tuple(by_id[item])) for item in by_id)


def _tasks(task_ids: Iterable[TaskIds]) -> TaskIdSet:
    return {(task_id_.subtopology_id, partition) for task_id_ in task_ids for partition in task_id_.partitions}
