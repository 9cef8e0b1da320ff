"""The topics of a cluster, shared by all nodes: names, ids, configurations, partitions and leaders.

Source: Kafka's `ReplicationControlManager`; error messages are those of Kafka 4.3.0.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from kohort.protocol.errors import ErrorCode
from kohort.storage.log import PartitionLog
from kohort.storage.memory import Memory
from kohort.storage.placement import Placement
from kohort.storage.producers import Producers
from kohort.storage.refusal import Refusal
from kohort.storage.store import MemoryStorage, Storage
from kohort.storage.topic import Partition, Topic
from kohort.storage.topic_configs import TOPIC_CONFIGS, log_config, refusal_of, usual_values
from kohort.storage.topic_names import name_refusal

# Internal according to Metadata. Clients cannot produce to them.
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

PRODUCER_IDS_AT_ONCE = 1_000  # ids per persisted block (Kafka: `ProducerIdsBlock`)

PARTITIONS_AT_ONCE = 64  # New partitions per slice: each takes 20 µs on disk.

_END = object()
_NOWHERE = MemoryStorage()  # storage for topics with validate_only
ResultT = TypeVar("ResultT")
ParamsT = ParamSpec("ParamsT")


def _at_once(
    steps: Callable[Concatenate["Topics", ParamsT], Generator[None, None, ResultT]],
) -> Callable[Concatenate["Topics", ParamsT], ResultT]:
    """Wrap a generator method so that it runs in one slice."""

    def do(topics: "Topics", /, *args: ParamsT.args, **kwargs: ParamsT.kwargs) -> ResultT:
        result: ResultT
        working = steps(topics, *args, **kwargs)
        while True:
            try:
                next(working)
            except StopIteration as end:
                result = end.value
                return result

    return do


class Topics:
    """The topics of a cluster, by name and by id."""

    def __init__(
        self,
        node_ids: Sequence[int],
        new_id: Callable[[], UUID],
        defaults: Mapping[str, str] | None = None,
        *,
        num_partitions: int = 1,
        replication_factor: int = 1,
        memory: Memory | None = None,
        producer_expiration_ms: int = 86_400_000,
        retention_check_interval_ms: int = 300_000,
        cleaner_backoff_ms: int = 15_000,
        storage: Storage | None = None,
    ) -> None:
        """Create the table of topics.

        Args:
            new_id: Creates topic ids.
            defaults: Overrides of topic configuration defaults, by topic configuration name.
            num_partitions: Partitions of a topic if the client leaves the choice to the cluster.
            replication_factor: Replicas of a partition if the client leaves the choice to the cluster.
            storage: Where logs are kept; in memory if None.
        """
        self.placement = Placement(node_ids)
        self.defaults: dict[str, str] = {**usual_values(), **(defaults or {})}
        self.memory = memory if memory is not None else Memory()
        self._new_id = new_id
        self._storage = storage if storage is not None else MemoryStorage()
        self._usual_size = (num_partitions, replication_factor)
        self._producer_expiration_ms = producer_expiration_ms
        self._retention_check_interval_ms = retention_check_interval_ms
        self._cleaner_backoff_ms = cleaner_backoff_ms
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._in_the_making: set[str] = set()  # names of topics that are being created or extended
        self.version = 0  # incremented when a topic is created, deleted or extended
        self._first_leader = 0
        self._next_producer_id = 0
        self._noted_producer_ids = 0
        self._compaction: Generator[None, None, int] | None = None
        self._compacted: PartitionLog | None = None  # the log that is being compacted
        # Logs whose compaction has failed; they are retried when no other log is waiting.
        self._not_compacted: set[PartitionLog] = set()
        self._next_retention_ms: int | None = None

    def __iter__(self) -> Iterator[Topic]:
        """Iterate over topics in order of creation."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def by_name(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: UUID | None) -> Topic | None:
        return self._by_id.get(topic_id) if topic_id is not None else None

    def partition(self, topic_id: UUID | None, index: int) -> Partition | None:
        topic = self.by_id(topic_id)
        return None if topic is None else topic.partition(index)

    def find(self, name: str | None, topic_id: UUID | None) -> Topic | None:
        """Return the topic with this id, or this name if the id is not given, or None."""
        return self.by_id(topic_id) if topic_id is not None else self.by_name(name or "")

    def effective_configs(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return all configurations of a topic with `configs`, including defaults."""
        return dict(sorted({**self.defaults, **configs}.items()))

    def lacks_copies(self, topic: Topic, partition: Partition) -> bool:
        """Return whether too few replicas run for `min.insync.replicas` (Kafka: effectiveMinIsr)."""
        if not self.placement.stopped_nodes:
            return False
        required = min(topic.log_config.min_insync_replicas, len(partition.replicas))
        return len(self.placement.in_sync(partition.replicas)) < required

    # Creating

    def creating(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        *,
        assignments: Sequence[tuple[int, Sequence[int]]] | None = None,
        topic_id: UUID | None = None,
        siblings: Collection[str] = (),
        validate_only: bool = False,
    ) -> Generator[None, None, Topic | Refusal]:
        """Create a topic in slices.

        Args:
            partitions: -1 leaves the number to the cluster, as for `replication_factor`.
            assignments: Replicas of each partition, instead of numbers.
            topic_id: Id of an existing topic that is taken over.
            siblings: Topics that the same request has created; names within one request do not collide.
            validate_only: Only validate; the returned topic is not stored.

        Raises:
            OSError: The topic cannot be stored and is not created.
        """
        problem = name_refusal(name)
        if problem is not None:
            return Refusal(ErrorCode.invalid_topic_exception, problem)
        if name in self._by_name or name in self._in_the_making:
            return Refusal(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
        colliding = self._colliding(name, siblings)
        if colliding is not None:
            return Refusal(
                ErrorCode.invalid_topic_exception, f"Topic '{name}' collides with existing topic: {colliding}"
            )
        configs = dict(configs or {})
        problem = refusal_of(configs.items(), self.defaults)
        if problem is not None:
            return Refusal(ErrorCode.invalid_config, problem)
        replicas = self.placement.of_new_topic(
            self._first_leader, (partitions, replication_factor), self._usual_size, assignments
        )
        if isinstance(replicas, Refusal):
            return replicas
        config = log_config({**self.defaults, **configs})
        topic = Topic(name, topic_id or self._new_id(), [], configs, name in INTERNAL_TOPICS, config)
        storage = _NOWHERE if validate_only else self._storage
        topic.partitions += yield from self._create(topic, self._partitions(topic, replicas, storage))
        if not validate_only:
            self._note(topic)
            self._by_name[name] = self._by_id[topic.topic_id] = topic
            self._first_leader += 1
            self.version += 1
        return topic

    create = _at_once(creating)

    def restore(
        self, name: str, topic_id: UUID, configs: Mapping[str, str], partitions: Sequence[tuple[tuple[int, ...], int]]
    ) -> None:
        """Restore a topic from storage, with replicas and current leader epoch of each partition.

        Nodes that no longer exist have lost their replicas; a partition without any replica gets new ones.
        """
        ring = self.placement.spread(self._first_leader, len(partitions), 1)
        topic_configs = {config: value for config, value in configs.items() if config in TOPIC_CONFIGS}
        topic = Topic(
            name, topic_id, [], topic_configs, name in INTERNAL_TOPICS, log_config({**self.defaults, **topic_configs})
        )
        nodes = [
            tuple(node_id for node_id in replicas if node_id in self.placement.node_ids) for replicas, _ in partitions
        ]
        instead = [node or other for node, other in zip(nodes, ring, strict=True)]
        topic.partitions += self._partitions(topic, instead, self._storage)
        for partition, (_, leader_epoch) in zip(topic.partitions, partitions, strict=True):
            partition.leader_epoch = max(partition.leader_epoch, leader_epoch)
            if partition.log.log_end_offset:
                partition.log.start_epoch(partition.leader_epoch)
        self._by_name[name] = self._by_id[topic_id] = topic
        self._first_leader += 1
        self.version += 1

    def _note(self, topic: Topic, more: Sequence[tuple[int, ...]] = (), configs: dict[str, str] | None = None) -> None:
        """Persist a topic, optionally with `more` partitions or other `configs`."""
        there_are = [(partition.replicas, partition.leader_epoch) for partition in topic.partitions]
        self._storage.topic_changed(
            topic.name,
            topic.topic_id,
            topic.configs if configs is None else configs,
            [*there_are, *((replicas, 0) for replicas in more)],
        )

    def moved(self, topic: Topic, partition: Partition) -> None:
        """Persist a partition's new leader or replicas.

        Raises:
            OSError: The change cannot be stored.
        """
        self._storage.partition_moved(topic.topic_id, partition.index, partition.replicas, partition.leader_epoch)

    def _colliding(self, name: str, siblings: Collection[str]) -> str | None:
        """Return a topic whose name differs only in `.` and `_`: in Kafka their metric names would collide.

        Source: Kafka's `ReplicationControlManager.validateNewTopicNames`, which knows no name of the same request.
        """
        if "." not in name and "_" not in name:
            return None
        plain = name.replace(".", "_")
        names = (*self._by_name, *self._in_the_making)
        return next((other for other in names if other.replace(".", "_") == plain and other not in siblings), None)

    def _create(self, topic: Topic, partitions: Iterator[Partition]) -> Generator[None, None, list[Partition]]:
        """Create the partitions in slices."""
        created: list[Partition] = []
        self._in_the_making.add(topic.name)
        try:
            for partition in partitions:
                created.append(partition)
                if len(created) % PARTITIONS_AT_ONCE == 0:
                    yield
        finally:
            self._in_the_making.discard(topic.name)
        for partition in created:  # nodes may have stopped or started meanwhile
            partition.leader = self.placement.eligible_leader(partition.replicas)
        return created

    def _partitions(self, topic: Topic, replicas: Sequence[tuple[int, ...]], storage: Storage) -> Iterator[Partition]:
        """Yield additional partitions, which are not yet part of the topic."""
        for index, nodes in enumerate(replicas, len(topic.partitions)):
            store, recovered = storage.open(topic.name, topic.topic_id, index, self._producer_expiration_ms)
            log = PartitionLog(topic.log_config, self.memory, store, recovered)
            partition = Partition(index, log, nodes, self.placement.eligible_leader(nodes))
            if recovered is not None:
                partition.leader_epoch, partition.producers = log.latest_epoch + 1, recovered.producers
            yield partition

    # Changing and deleting

    def growing(
        self,
        topic: Topic,
        count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
    ) -> Generator[None, None, Refusal | None]:
        """Extend a topic to `count` partitions, in slices.

        Args:
            assignments: Replicas of the new partitions.

        Raises:
            OSError: The change cannot be stored and has no effect. The same holds for `configure` and `delete`.
        """
        if topic.name in self._in_the_making:
            return Refusal(ErrorCode.request_timed_out, f"Topic '{topic.name}' gets more partitions right now.")
        there_are = len(topic.partitions)
        if count == there_are:
            return Refusal(ErrorCode.invalid_partitions, f"Topic already has {count} partition(s).")
        if count < there_are:
            return Refusal(
                ErrorCode.invalid_partitions,
                f"The topic {topic.name} currently has {there_are} partition(s); {count} would not be an increase.",
            )
        more = count - there_are
        if assignments is None:
            replicas = self.placement.of_more([nodes.replicas for nodes in topic.partitions], more)
        else:
            replicas = self.placement.of_more_by_hand(there_are, more, assignments, len(topic.partitions[0].replicas))
        if isinstance(replicas, Refusal):
            return replicas
        if not validate_only:
            more_partitions = yield from self._create(topic, self._partitions(topic, replicas, self._storage))
            if self._by_name.get(topic.name) is not topic:
                return Refusal(ErrorCode.unknown_topic_or_partition)  # it was deleted meanwhile
            self._note(topic, replicas)
            topic.partitions += more_partitions
            self.version += 1
        return None

    grow = _at_once(growing)

    def configure(self, topic: Topic, configs: Mapping[str, str], *, validate_only: bool = False) -> Refusal | None:
        """Replace the configurations of a topic."""
        message = refusal_of(configs.items(), self.defaults)
        if message is not None:
            return Refusal(ErrorCode.invalid_config, message)
        if not validate_only:
            config = log_config({**self.defaults, **configs})
            self._note(topic, configs=dict(configs))
            topic.configs, topic.log_config = dict(configs), config
            for partition in topic.partitions:
                partition.log.config = topic.log_config
        return None

    def delete(self, topic: Topic) -> None:
        """Delete a topic and its logs. A topic that is later created with the same name has another id."""
        self._storage.topic_deleted(topic.name, topic.topic_id, len(topic.partitions))
        self._compaction = None  # whatever it is at; it is looked for again
        del self._by_name[topic.name], self._by_id[topic.topic_id]
        self.version += 1
        for partition in topic.partitions:
            partition.log.clear()

    # Producers

    def next_producer_id(self) -> int:
        """Return a new producer id.

        Raises:
            OSError: The block of ids cannot be stored.
        """
        producer_id = self._next_producer_id
        if producer_id >= self._noted_producer_ids:
            self._storage.producer_ids(producer_id + PRODUCER_IDS_AT_ONCE)
            self._noted_producer_ids = producer_id + PRODUCER_IDS_AT_ONCE
        self._next_producer_id += 1
        return producer_id

    def producer_ids_from(self, producer_id: int) -> None:
        """Skip ids below `producer_id`, which were allocated before this start."""
        self._next_producer_id = self._noted_producer_ids = producer_id

    def producer_ids_beyond(self, producer_id: int) -> None:
        """Skip ids up to `producer_id`, which may be in use.

        Raises:
            OSError: The change cannot be stored.
        """
        self._storage.producer_ids(producer_id + 1)
        self.producer_ids_from(producer_id + 1)

    def producers_of(self, partition: Partition) -> Producers:
        """Return the producer state of a partition, creating it if needed."""
        if partition.producers is None:
            partition.producers = Producers(self._producer_expiration_ms)
        return partition.producers

    # Upkeep

    def maintain(self, wall_ms: int) -> int:
        """Run a slice of periodic maintenance and return the milliseconds until the next call.

        Retention and producer expiration run every `retention_check_interval_ms`; compaction runs every
        `cleaner_backoff_ms`, in slices of about a millisecond (0 means: call again when idle).

        Raises:
            OSError: A file operation failed.
        """
        if self._compaction is not None:
            # Not kept if it fails: it would fail again.
            compaction, self._compaction = self._compaction, None
            try:
                has_ended = next(compaction, _END) is _END
            except Exception:
                if self._compacted is not None:
                    self._not_compacted.add(self._compacted)
                raise
            if not has_ended:
                self._compaction = compaction
                return 0
        if self._next_retention_ms is None:
            self._next_retention_ms = wall_ms + self._retention_check_interval_ms
        elif wall_ms >= self._next_retention_ms:
            self._next_retention_ms = wall_ms + self._retention_check_interval_ms
            self._forget_old(wall_ms)
        for topic in self._by_name.values():
            if topic.log_config.compact:
                for partition in topic.partitions:
                    if partition.log in self._not_compacted:
                        continue
                    if partition.log.needs_compaction(wall_ms, partition.producers):
                        self._compacted = partition.log
                        self._compaction = partition.log.compact(wall_ms, partition.producers)
                        return 0
        self._not_compacted.clear()
        return min(self._cleaner_backoff_ms, max(self._next_retention_ms - wall_ms, 1))

    def _forget_old(self, wall_ms: int) -> None:
        error: OSError | None = None
        for topic in self._by_name.values():
            for partition in topic.partitions:
                try:
                    partition.log.trim(wall_ms)
                except OSError as raised:  # the others may make the room that this one lacks
                    error = raised
                if partition.producers is not None:
                    partition.producers.expire(wall_ms)
                    partition.producers.transactions.trim(partition.log.log_start_offset)
                    if not len(partition.producers) and not partition.producers.transactions:
                        partition.producers = None
        if error is not None:
            raise error
