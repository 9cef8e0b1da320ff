"""A topic that keeps what its partitions' leaders coordinate: created on first use, taken over when leaders change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from mypy_extensions import mypyc_attr

from kohort.broker.logs import log
from kohort.coordinator.group_placement import partition_for
from kohort.purgatory import DelayedOperation
from kohort.storage.placement import NO_LEADER
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Partition, Topic

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster.replay import Loader, Replay
    from kohort.broker.cluster.shared_state import SharedState

C = TypeVar("C")
"""A kind of coordinator; each node has one."""


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatedTopic(ABC, Generic[C]):
    """The topic, and who looks after which part of it."""

    name: ClassVar[str]
    keeps: ClassVar[str]
    """What is in it, as a log line names one."""

    def __init__(self, state: SharedState, coordinators: Mapping[int, C]) -> None:
        """`coordinators`: by the ids of their nodes."""
        self.coordinators = coordinators
        self._state = state
        self._topic: Topic | None = None
        self._creation: DelayedOperation | None = None
        self._refused = False
        self._loads: dict[int, Replay] = {}
        """The last load of each partition, running or over."""

    @property
    def exists(self) -> bool:
        """Whether it has been created."""
        return self._topic is not None

    def home_of(self, key: str) -> int | None:
        """The node that coordinates a group, or a transactional id; None while nobody does.

        Source: classic-groups §1.1.
        """
        topic = self._topic
        if topic is None:
            return None
        leader = topic.partitions[partition_for(key, len(topic.partitions))].leader
        return None if leader == NO_LEADER else leader

    def coordinator_of(self, key: str) -> C | None:
        """The coordinator of a group, or of a transactional id; None while there is none."""
        home = self.home_of(key)
        return None if home is None else self.coordinators[home]

    def wanted(self, now_ms: int) -> None:
        """Creates it because a client asked for a coordinator. As in Kafka, it is not there yet for that request."""
        if self._topic is None and self._creation is None:
            self._creation = _Creation(self, now_ms)
            self._state.purgatory.wait(self._creation)

    def create(self, now_ms: int) -> None:
        """Creates it, and has each partition's leader take it over. With too few nodes for its copies: a log line.

        One that a client has created itself keeps its number of partitions (classic-groups §1.1). One
        that was taken over before is left alone: members loaded twice would fall silent once.
        """
        self._creation = None
        if self._topic is not None:
            return
        try:
            created = self._state.topics.by_name(self.name) or self.make()
        except OSError as problem:
            self._state.storage_failed(f"{self.name} cannot be created", problem)
            return
        if isinstance(created, Refusal):
            if not self._refused:
                log.warning(f"no {self.keeps} finds a coordinator, as {self.name} cannot be created: {created.message}")
            self._refused = True
            return
        self._topic = created
        for coordinator in self.coordinators.values():
            self._set_partitions(coordinator, len(created.partitions))
        for partition in created.partitions:
            self.elected(partition, now_ms)

    def make(self, least_partitions: int = 1, topic_id: UUID | None = None) -> Topic | Refusal:
        """Creates it, and nobody takes it over yet. `topic_id`: of one whose files are there. Raises OSError."""
        partitions, replication_factor, configs = self._shape()
        return self._state.topics.create(
            self.name, max(partitions, least_partitions), replication_factor, configs, topic_id=topic_id
        )

    def deleted(self, now_ms: int) -> None:
        """Forgets all it kept. Kafka allows to delete it; it is created again when a client asks for a coordinator."""
        if self._topic is None:
            return
        for partition in self._topic.partitions:
            self.resigned(partition, now_ms)
        self._topic = None

    def resigned(self, partition: Partition, now_ms: int) -> None:
        """Its leader is about to lose one of the topic's partitions, and forgets what that keeps."""
        leader = self.coordinators.get(partition.leader)
        if self._topic is None or leader is None:
            return
        running = self._loads.pop(partition.index, None)  # none for one that was added later: it keeps nothing
        if running is not None:
            running.cancel()
        self._unload(leader, partition, now_ms)

    def elected(self, partition: Partition, now_ms: int) -> None:
        """One of the topic's partitions has a leader, or none; it takes over what is in the partition's log."""
        leader = self.coordinators.get(partition.leader)
        if self._topic is None or leader is None:
            return
        name = f"{self.name}-{partition.index}"
        loading = self._loading(leader, partition)
        self._loads[partition.index] = self._state.replays.start(name, partition.log, loading, now_ms)

    @abstractmethod
    def _shape(self) -> tuple[int, int, dict[str, str]]:
        """Partitions, copies and settings that a new one has."""

    @abstractmethod
    def _set_partitions(self, coordinator: C, count: int) -> None:
        """Lets a coordinator know how many partitions there are."""

    @abstractmethod
    def _loading(self, leader: C, partition: Partition) -> Loader:
        """What the partition's log is replayed into."""

    @abstractmethod
    def _unload(self, leader: C, partition: Partition, now_ms: int) -> None:
        """The leader forgets what the partition keeps."""


class _Creation(DelayedOperation):
    """The moment after somebody has asked for its coordinator first."""

    __slots__ = ("_topic",)

    def __init__(self, topic: CoordinatedTopic[C], now_ms: int) -> None:
        super().__init__(now_ms)
        self._topic = topic

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._topic.create(now_ms)
