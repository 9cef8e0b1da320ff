"""A transactional producer and a reader of what it wrote, on a broker without sockets."""

from __future__ import annotations

from typing import Any

from kohort.protocol.batches import TRANSACTIONAL, Record, build_batch, read_batches
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.protocol.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from tests.support.broker import Broker, Client
from tests.support.frames import to_fetch

E = ErrorCode


TOPIC, ID, GROUP = "t", "x", "g"


class Producer:
    """A transactional producer, and a reader of its records."""

    def __init__(self, nodes: int = 1, **settings: Any) -> None:
        broker = Broker(nodes=nodes, **settings)
        broker.cluster.offsets_topic.create(0)
        broker.cluster.transaction_topic.create(0)
        broker.cluster.topics.create(TOPIC, 2, 1)
        self._speaks(broker, ID)

    def _speaks(self, broker: Broker, transactional_id: str) -> None:
        self.broker = broker
        self.id = transactional_id
        self.home = self._at(broker.cluster.transaction_topic.home_of(transactional_id))
        self.sequences = [0, 0]
        self.producer_id, self.epoch = -1, -1

    def _at(self, home: int | None) -> Client:
        assert home is not None
        return self.broker.client(home - self.broker.cluster.nodes[0].id)

    def another(self, transactional_id: str) -> Producer:
        made = object.__new__(Producer)
        made._speaks(self.broker, transactional_id)
        made.init()
        return made

    def leader(self, partition: int = 0) -> Client:
        cluster = self.broker.cluster
        return self.broker.client(cluster.topics.by_name(TOPIC).partitions[partition].leader - cluster.nodes[0].id)  # type: ignore[union-attr]

    def init(self, **expected: int) -> E:
        answer = self.home.asks(
            "init_producer_id", 5, transactional_id=self.id, transaction_timeout_ms=60_000, **expected
        )
        if answer.error_code is E.none:
            self.producer_id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, [0, 0]
        error: E = answer.error_code
        return error

    def adds(self, *partitions: int, epoch: int | None = None) -> list[E]:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            topics=(AddPartitionsToTxnTopic(name=TOPIC, partitions=partitions),),
        )
        (result,) = self.home.asks("add_partitions_to_txn", 3, transactions=(transaction,)).results_by_transaction
        return [each.partition_error_code for each in result.topic_results[0].results_by_partition]

    def writes(self, version: int, partition: int = 0, *, epoch: int | None = None) -> E:
        batch = build_batch(
            [Record(None, b"v", 1_700_000_000_000)],
            attributes=TRANSACTIONAL,
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=self.sequences[partition],
        )
        data = TopicProduceData(name=TOPIC, partition_data=(PartitionProduceData(index=partition, records=batch),))
        answer = self.leader(partition).asks(
            "produce", version, transactional_id=self.id, acks=-1, timeout_ms=1, topic_data=(data,)
        )
        error: E = answer.responses[0].partition_responses[0].error_code
        self.sequences[partition] += error is E.none
        return error

    def ends(self, version: int, *, committed: bool, epoch: int | None = None) -> E:
        answer = self.home.asks(
            "end_txn",
            version,
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=committed,
        )
        if answer.error_code is E.none and version >= 5:
            self.producer_id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, [0, 0]
        error: E = answer.error_code
        return error

    def commits_offset(self, version: int, offset: int) -> E:
        topic = TxnOffsetCommitRequestTopic(
            name=TOPIC,
            partitions=(
                TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=""),
            ),
        )
        answer = self._at(self.broker.cluster.offsets_topic.home_of(GROUP)).asks(
            "txn_offset_commit",
            version,
            transactional_id=self.id,
            group_id=GROUP,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=(topic,),
        )
        error: E = answer.topics[0].partitions[0].error_code
        return error

    def offset(self) -> list[int]:
        """Return the committed offset of the group as any client sees it."""
        client = self._at(self.broker.cluster.offsets_topic.home_of(GROUP))
        (group,) = client.asks("offset_fetch", 8, groups=to_fetch(GROUP), require_stable=True).groups
        return [partition.committed_offset for topic in group.topics for partition in topic.partitions]

    def reads(self, offset: int = 0, partition: int = 0) -> tuple[list[int], list[int], int]:
        """Return the offsets of batches that a read_committed consumer gets, the aborted transactions, and the LSO."""
        asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        answer = self.leader(partition).asks(
            "fetch",
            11,
            max_wait_ms=0,
            min_bytes=1,
            isolation_level=1,
            topics=(FetchTopic(topic=TOPIC, partitions=(asked,)),),
        )
        data = answer.responses[0].partitions[0]
        batches = read_batches(b"".join(data.records or ()))
        return [batch.base_offset for batch in batches], self._aborted(data), data.last_stable_offset

    @staticmethod
    def _aborted(data: Any) -> list[int]:
        return [aborted_transaction.first_offset for aborted_transaction in data.aborted_transactions]
