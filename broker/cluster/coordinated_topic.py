"""An internal topic whose partition leaders are coordinators: created on first use, loaded when leaders change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from mypy_extensions import mypyc_attr

from kohort.base.logs import log
from kohort.coordinator.groups.group_placement import partition_for
from kohort.purgatory import DelayedOperation
from kohort.storage.placement import NO_LEADER
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Partition, Topic

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster.replay import Loader, Replay
    from kohort.broker.cluster.shared_state import SharedState

C = TypeVar("C")  # type of coordinator; each node has one


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatedTopic(ABC, Generic[C]):
    """The topic, and the coordinators of its partitions."""

    name: ClassVar[str]
    keeps: ClassVar[str]  # singular noun for its contents in log lines

    def __init__(self, state: SharedState, coordinators: Mapping[int, C]) -> None:
        self.coordinators = coordinators
        self._state = state
        self._topic: Topic | None = None
        self._creation: DelayedOperation | None = None
        self._refused = False
        self._loads: dict[int, Replay] = {}  # the last load of each partition, running or finished

    @property
    def exists(self) -> bool:
        return self._topic is not None

    def home_of(self, key: str) -> int | None:
        """Return the node that coordinates a group or a transactional id, or None.

        Source: classic-groups §1.1.
        """
        topic = self._topic
        if topic is None:
            return None
        leader = topic.partitions[partition_for(key, len(topic.partitions))].leader
        return None if leader == NO_LEADER else leader

    def coordinator_of(self, key: str) -> C | None:
        home = self.home_of(key)
        return None if home is None else self.coordinators[home]

    def schedule_creation(self, now_ms: int) -> None:
        """Create the topic shortly after a client has looked for its coordinator. As in Kafka, that request fails."""
        if self._topic is None and self._creation is None:
            self._creation = _Creation(self, now_ms)
            self._state.purgatory.wait(self._creation)

    def create(self, now_ms: int) -> None:
        """Create the topic, and load each partition into its leader.

        With fewer nodes than replicas, a warning is logged instead. A topic that a client has created keeps its number
        of partitions (classic-groups §1.1). If it was loaded before, nothing is done, because members loaded twice
        would expire once.
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
                log.warning(
                    f"no {self.keeps} has a coordinator, because {self.name} cannot be created: {created.message}"
                )
            self._refused = True
            return
        self._topic = created
        for coordinator in self.coordinators.values():
            self._set_partitions(coordinator, len(created.partitions))
        for partition in created.partitions:
            self.elected(partition, now_ms)

    def make(self, least_partitions: int = 1, topic_id: UUID | None = None) -> Topic | Refusal:
        """Create the topic without loading it.

        Args:
            topic_id: Id of a topic whose files exist.

        Raises:
            OSError: If it cannot be stored.
        """
        partitions, replication_factor, configs = self._shape()
        return self._state.topics.create(
            self.name, max(partitions, least_partitions), replication_factor, configs, topic_id=topic_id
        )

    def deleted(self, now_ms: int) -> None:
        """Drop all state.

        Kafka allows to delete the topic; it is created again when a client looks for a coordinator.
        """
        if self._topic is None:
            return
        for partition in self._topic.partitions:
            self.resigned(partition, now_ms)
        self._topic = None

    def resigned(self, partition: Partition, now_ms: int) -> None:
        """Unload a partition whose leader will lose leadership."""
        leader = self.coordinators.get(partition.leader)
        if self._topic is None or leader is None:
            return
        running = self._loads.pop(partition.index, None)  # None for a partition that was added later and is empty
        if running is not None:
            running.cancel()
        self._unload(leader, partition, now_ms)

    def elected(self, partition: Partition, now_ms: int) -> None:
        """Load a partition into its new leader, if it has one."""
        leader = self.coordinators.get(partition.leader)
        if self._topic is None or leader is None:
            return
        name = f"{self.name}-{partition.index}"
        loading = self._loading(leader, partition)
        self._loads[partition.index] = self._state.replays.start(name, partition.log, loading, now_ms)

    @abstractmethod
    def _shape(self) -> tuple[int, int, dict[str, str]]:
        """Return partitions, replication factor and settings of a new topic."""

    @abstractmethod
    def _set_partitions(self, coordinator: C, count: int) -> None:
        """Set the number of partitions that the coordinator divides its keys into."""

    @abstractmethod
    def _loading(self, leader: C, partition: Partition) -> Loader:
        """Return the loader that the partition's log is replayed into."""

    @abstractmethod
    def _unload(self, leader: C, partition: Partition, now_ms: int) -> None:
        """Drop the state of a partition from its leader."""


class _Creation(DelayedOperation):
    """The deferred creation after the first request for a coordinator."""

    __slots__ = ("_topic",)

    def __init__(self, topic: CoordinatedTopic[C], now_ms: int) -> None:
        super().__init__(now_ms)
        self._topic = topic

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._topic.create(now_ms)
