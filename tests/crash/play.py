"""Clients that ask everything of a broker that stores something, driven by a seed; and what they know afterwards."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from kohort.protocol.batches import TRANSACTIONAL, Record, build_batch
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kohort.protocol.messages.create_partitions import CreatePartitionsTopic
from kohort.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.crash.both_protocols import BothProtocols
from tests.crash.consumers import Consumers
from tests.crash.disk import Died
from tests.crash.life import Life
from tests.crash.looking import look, topic_facts
from tests.crash.truth import ANYTHING, ID, MONEY, Partition, Transaction, Truth
from tests.support.data_requests import topic as new_topic

KINDS: dict[str, dict[str, str]] = {
    "plain": {"segment.ms": "4000"},
    "short": {"segment.ms": "2000", "retention.ms": "9000"},
    "keyed": {"segment.ms": "2000", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"},
}
"""Topics that come and go, and their settings."""
TOPIC, GROUP = 2, 32
"""Types of resources that have settings."""


class Play:
    """The clients. They live on when the broker does not."""

    def __init__(self, random: Random, truth: Truth) -> None:
        self.random = random
        self.truth = truth
        self.number = 0
        self.errors: set[E] = set()
        """All responses since the last check."""
        self.acknowledged = 0
        self.consumers = Consumers(self)
        self.both_protocols = BothProtocols(self)
        self.was_promised_something = True
        """Whether what the broker has stored must be there."""
        self.life: Life

    def meet(self, life: Life) -> None:
        """Connect to the next broker; pending requests get no response."""
        died = getattr(self, "life", None)
        self.life = life
        self.busy_topics: set[str] = set()
        self.busy_transaction = False
        self.producer: tuple[int, int] | None = None
        self.transaction: Transaction | None = None
        self.sequences: dict[int, int] = {}
        self.consumers.meet()
        self.both_protocols.meet(died)

    def creates_money(self) -> None:
        self._create(MONEY, 2, {})

    def finds_coordinators(self) -> None:
        for key, key_type in (("orders", 0), (ID, 1)):
            self.life.hears("find_coordinator", 1, coordinator_keys=(key,), key_type=key_type)
            self.life.wait(1)
            self.life.settle()

    def begin(self) -> None:
        """Create the initial topics and groups."""
        self.creates_money()
        self.life.hears("find_coordinator", 1, coordinator_keys=("orders",), key_type=0)
        self.life.wait(1)
        self.life.settle()
        answer = self.life.hears(
            "incremental_alter_configs", 1, resources=(_resource("__consumer_offsets", "segment.ms", "3000"),),
            validate_only=False,
        )  # fmt: skip
        assert answer.responses[0].error_code is E.none
        self.life.hears("find_coordinator", 1, coordinator_keys=(ID,), key_type=1)
        self.life.wait(1)
        self.life.settle()

    def step(self) -> None:
        """Perform an action of a client, let time pass, or run disk jobs."""
        actions: tuple[tuple[Callable[[], None], float], ...] = (
            (self.produces, 30),
            (self.consumers.commits, 20),
            (self.consumers.somebody_moves, 25),
            (self.both_protocols.somebody_acts, 30),
            (self.transacts, 20),
            (self.creates, 2),
            (self.changes, 1),
            (self.grows, 0.5),
            (self.deletes, 0.7),
            (self.deletes_records, 1),
            (self.asks_for_an_id, 1),
            (self.passes, 12),
            (self.gets_on, 40),
        )
        self.random.choices([action for action, _ in actions], [weight for _, weight in actions])[0]()

    def gets_on(self) -> None:
        if self.random.random() < 0.5:
            self.life.loop.run_soon()
        else:
            self.life.threads.go_on()
        self.life.look()

    def passes_long(self) -> None:
        """Let enough time pass for retention and compaction."""
        self.life.wait(31_000)

    def passes(self) -> None:
        self.life.wait(self.random.choice((1, 1, 5, 300, 2_000, 16_000)))

    def heard(self, error: E) -> bool:
        self.errors.add(error)
        self.acknowledged += error is E.none
        return error is E.none

    # Topics

    def _asks_of(self, name: str, api: str, version: int, error_of: Callable[[Any], E], **fields: Any) -> None:
        if name in self.busy_topics:
            return
        self.busy_topics.add(name)
        before = topic_facts(self.life, name)

        def answered(response: Any) -> None:
            self.busy_topics.discard(name)
            after = topic_facts(self.life, name)
            self.truth.topics.asked(name, after)
            if self.heard(error_of(response)):
                self.truth.topics.acknowledged(name, after)

        try:
            self.life.asks(api, version, answered, **fields)
        except Died:
            self.truth.topics.asked(name, ANYTHING)
            raise
        if name in self.busy_topics:
            after = topic_facts(self.life, name)
            # A broker that is busy has not read the request yet.
            self.truth.topics.asked(name, ANYTHING if after == before else after)

    def creates(self) -> None:
        name = self.random.choice(list(KINDS))
        if topic_facts(self.life, name) is None:
            self._create(name, self.random.choice((1, 2)), KINDS[name])

    def _create(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        topic = new_topic(name, partitions, configs=dict(configs))
        self._asks_of(name, "create_topics", 7, lambda answer: answer.topics[0].error_code, topics=(topic,))

    def changes(self) -> None:
        name = self.random.choice(list(KINDS))
        if topic_facts(self.life, name) is not None:
            self.number += 1
            resource = _resource(name, "max.message.bytes", str(1_000_000 + self.number))
            self._asks_of(
                name, "incremental_alter_configs", 1, lambda answer: answer.responses[0].error_code,
                resources=(resource,), validate_only=False,
            )  # fmt: skip

    def changes_group(self) -> None:
        self.number += 1
        value = str(45_000 + self.number % 10_000)
        resource = _resource("orders", "consumer.session.timeout.ms", value, kind=GROUP)

        def answered(response: Any) -> None:
            self.heard(response.responses[0].error_code)

        self.life.asks("incremental_alter_configs", 1, answered, resources=(resource,), validate_only=False)

    def grows(self) -> None:
        name = self.random.choice(list(KINDS))
        topic = self.life.cluster.topics.by_name(name)
        if topic is not None and len(topic.partitions) < 4:
            more = CreatePartitionsTopic(name=name, count=len(topic.partitions) + 1, assignments=None)
            self._asks_of(
                name, "create_partitions", 3, lambda answer: answer.results[0].error_code, topics=(more,),
                timeout_ms=1, validate_only=False,
            )  # fmt: skip

    def deletes(self) -> None:
        name = self.random.choice(list(KINDS))
        if topic_facts(self.life, name) is not None:
            state = DeleteTopicState(name=name, topic_id=None)
            self._asks_of(
                name,
                "delete_topics",
                6,
                lambda answer: answer.responses[0].error_code,
                timeout_ms=10_000,
                topics=(state,),
            )

    # Records

    def _partition(self, name: str, index: int) -> Partition:
        topic = self.life.cluster.topics.by_name(name)
        assert topic is not None
        partition = Partition(compacted=name == "keyed", retention_ms=9_000 if name == "short" else None)
        return self.truth.records.setdefault((topic.topic_id, index), partition)

    def _somewhere(self) -> tuple[str, int] | None:
        topics = [topic for topic in self.life.cluster.topics if topic.name in KINDS]
        if not topics:
            return None
        topic = self.random.choice(topics)
        return topic.name, self.random.randrange(len(topic.partitions))

    def _values(self, count: int = 1) -> list[bytes]:
        self.number += count
        padding = "." * self.random.choice((0, 0, 30, 6_000))
        return [f"{number}{padding}".encode() for number in range(self.number - count, self.number)]

    def produces(self) -> None:
        where = self._somewhere()
        if where is None:
            return
        name, index = where
        partition = self._partition(name, index)
        values = self._values(self.random.choice((1, 1, 3)))
        keys = [b"k%d" % self.random.randrange(4) if name == "keyed" else None for _ in values]
        partition.asked.update(dict.fromkeys(zip(keys, values, strict=True), self.life.wall_ms))
        batch = build_batch([Record(key, value, self.life.wall_ms) for key, value in zip(keys, values, strict=True)])

        def answered(response: Any) -> None:
            (part,) = response.responses[0].partition_responses
            if self.heard(part.error_code):
                for offset, pair in enumerate(zip(keys, values, strict=True), part.base_offset):
                    assert offset not in partition.acknowledged, f"offset {offset} is given twice"
                    partition.acknowledged[offset] = pair

        self._produce(name, index, batch, answered)

    def _produce(self, name: str, index: int, batch: bytes, then: Callable[[Any], None], **more: Any) -> None:
        data = TopicProduceData(name=name, partition_data=(PartitionProduceData(index=index, records=batch),))
        self.life.asks("produce", 9, then, acks=-1, timeout_ms=1, topic_data=(data,), **more)

    def deletes_records(self) -> None:
        where = self._somewhere()
        if where is None or where[0] == "keyed":
            return
        name, index = where
        partition = self._partition(name, index)
        offset = self.random.choice([*partition.acknowledged, 0])
        if offset < partition.start_asked:
            return
        partition.start_asked = offset
        topic = DeleteRecordsTopic(
            name=name, partitions=(DeleteRecordsPartition(partition_index=index, offset=offset),)
        )

        def answered(response: Any) -> None:
            (part,) = response.topics[0].partitions
            if part.error_code is not E.offset_out_of_range and self.heard(part.error_code):
                partition.start = max(partition.start, offset)

        self.life.asks("delete_records", 2, answered, topics=(topic,), timeout_ms=1)

    def asks_for_an_id(self) -> None:
        def answered(response: Any) -> None:
            if self.heard(response.error_code):
                self._new_id(response.producer_id)

        self.life.asks("init_producer_id", 4, answered, transactional_id=None, transaction_timeout_ms=1)

    def _new_id(self, producer_id: int) -> None:
        assert producer_id not in self.truth.producer_ids, f"producer id {producer_id} is given twice"
        self.truth.producer_ids.add(producer_id)

    # Transactions

    def transacts(self) -> None:
        if self.busy_transaction:
            return
        if self.producer is None:
            self._initializes()
        elif self.transaction is None:
            self._adds()
        elif len(self.transaction.values) < 3:
            self._writes(self.transaction)
        else:
            self._ends(self.transaction)

    def _asks_transaction(self, name: str, version: int, then: Callable[[Any], E], **fields: Any) -> None:
        self.busy_transaction = True

        def answered(response: Any) -> None:
            self.busy_transaction = False
            error = then(response)
            if not self.heard(error) and error is not E.concurrent_transactions:
                self.producer = self.transaction = None

        self.life.asks(name, version, answered, **fields)

    def _identity(self) -> dict[str, Any]:
        assert self.producer is not None
        return {"transactional_id": ID, "producer_id": self.producer[0], "producer_epoch": self.producer[1]}

    def _initializes(self) -> None:
        def then(response: Any) -> E:
            if response.error_code is E.none:
                self.truth.producer_ids.add(response.producer_id)
                self.producer, self.sequences = (response.producer_id, response.producer_epoch), {}
            error: E = response.error_code
            return error

        self._asks_transaction("init_producer_id", 4, then, transactional_id=ID, transaction_timeout_ms=60_000)

    def _adds(self) -> None:
        def then(response: Any) -> E:
            errors = [
                result.partition_error_code
                for result in response.results_by_transaction[0].topic_results[0].results_by_partition
            ]
            if errors == [E.none, E.none]:
                self.transaction = Transaction()
                self.truth.transactions.append(self.transaction)
            return next((error for error in errors if error is not E.none), E.none)

        whole = AddPartitionsToTxnTransaction(
            **self._identity(), topics=(AddPartitionsToTxnTopic(name=MONEY, partitions=(0, 1)),)
        )
        self._asks_transaction("add_partitions_to_txn", 3, then, transactions=(whole,))

    def _writes(self, transaction: Transaction) -> None:
        index = self.random.randrange(2)
        sequence = self.sequences.get(index, 0)
        (value,) = self._values()
        partition = self._partition(MONEY, index)
        partition.asked[None, value] = self.life.wall_ms
        transaction.values.append(value)
        assert self.producer is not None
        batch = build_batch(
            [Record(None, value, self.life.wall_ms)], attributes=TRANSACTIONAL, producer_id=self.producer[0],
            producer_epoch=self.producer[1], base_sequence=sequence,
        )  # fmt: skip

        def then(response: Any) -> E:
            (part,) = response.responses[0].partition_responses
            if part.error_code is E.none:
                self.sequences[index] = sequence + 1
                partition.acknowledged[part.base_offset] = (None, value)
            error: E = part.error_code
            return error

        self.busy_transaction = True

        def answered(response: Any) -> None:
            self.busy_transaction = False
            if not self.heard(then(response)):
                self.producer = self.transaction = None

        self._produce(MONEY, index, batch, answered, transactional_id=ID)

    def _ends(self, transaction: Transaction) -> None:
        transaction.ending = self.random.random() < 0.7

        def then(response: Any) -> E:
            if response.error_code is E.none:
                transaction.over = True
                self.transaction = None
            error: E = response.error_code
            return error

        self._asks_transaction("end_txn", 3, then, **self._identity(), committed=transaction.ending)

    def looks(self) -> None:
        """Check after a restart that all required data exists; from now on it must remain."""
        look(self.life, self.truth)
        self.both_protocols.looks()


def _resource(resource: str, name: str, value: str, kind: int = TOPIC) -> AlterConfigsResource:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    return AlterConfigsResource(resource_type=kind, resource_name=resource, configs=(config,))
