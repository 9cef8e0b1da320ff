"""A transaction of many partitions is worked on a little at a time; one append of Kafka stays one append."""

from itertools import pairwise
from typing import Any

import pytest

from kohort.broker.cluster.effect_execution import MARKERS_AT_ONCE
from kohort.coordinator.transactions.transaction import State
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kohort.protocol.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from kohort.protocol.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic
from tests.support.broker import Broker, Client, Stopwatch
from tests.support.data_requests import given_topic
from tests.support.frames import frame, heartbeat

COUNT = 3 * MARKERS_AT_ONCE + 5
STEP_US = 100


class Transaction:
    """An open transaction of a client, in a broker with a topic of COUNT partitions."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.client = self.broker.client()
        given_topic(self.client, "wide", COUNT)
        self.broker.cluster.offsets_topic.create(0)
        self.broker.cluster.transaction_topic.create(0)
        self.broker.loop.wait(50)
        Stopwatch(self.broker, STEP_US)
        init = self.client.asks("init_producer_id", 1, transactional_id="t", transaction_timeout_ms=60_000)
        self.who = {
            "transactional_id": "t", "producer_id": init.producer_id, "producer_epoch": init.producer_epoch,
        }  # fmt: skip

    def asks(self, name: str, version: int, **fields: Any) -> Any:
        """Return the response to a request that takes several rounds."""
        self.client.says(frame(name, version, 1, **fields))
        rounds = 0
        while not self.client.wire.writes:
            assert self.broker.loop.run_soon()
            rounds += 1
        assert rounds > 1
        ((_, response),) = self.client.hears(name, version)
        return response

    def adds(self, version: int = 3, count: int = COUNT) -> list[ErrorCode]:
        named = (AddPartitionsToTxnTopic(name="wide", partitions=tuple(range(count))),)
        transaction = AddPartitionsToTxnTransaction(verify_only=False, topics=named, **self.who)
        response = self.asks("add_partitions_to_txn", version, transactions=(transaction,))
        (result,) = response.results_by_transaction
        return [each.partition_error_code for topic in result.topic_results for each in topic.results_by_partition]

    def commits(self, client: Client) -> None:
        parts = tuple(
            TxnOffsetCommitRequestPartition(
                partition_index=n, committed_offset=n, committed_leader_epoch=-1, committed_metadata=""
            )
            for n in range(COUNT)
        )
        client.says(frame(
            "txn_offset_commit", 3, 1, group_id="g", generation_id=-1, member_id="", group_instance_id=None,
            topics=(TxnOffsetCommitRequestTopic(name="wide", partitions=parts),), **self.who,
        ))  # fmt: skip

    def marked(self) -> int:
        """Count the partitions that have received the end marker."""
        topic = self.broker.cluster.topics.by_name("wide")
        assert topic is not None
        return sum(partition.log.log_end_offset for partition in topic.partitions)

    @property
    def state(self) -> State:
        return self.broker.cluster.nodes[0].transactions.transactions["t"].state


@pytest.mark.parametrize("version", [3, 4])
def test_partitions_are_added_in_slices(version: int) -> None:
    transaction = Transaction()
    assert transaction.adds(version) == [ErrorCode.none] * COUNT
    assert transaction.state is State.ONGOING


def test_one_partition_that_is_missing() -> None:
    transaction = Transaction()
    *others, last = transaction.adds(count=COUNT + 1)
    assert set(others) == {ErrorCode.operation_not_attempted}
    assert last is ErrorCode.unknown_topic_or_partition
    assert transaction.state is State.EMPTY


def test_markers_are_sliced() -> None:
    transaction = Transaction()
    transaction.adds()
    broker, bob = transaction.broker, transaction.broker.client()
    answer = transaction.client.asks("end_txn", 3, committed=True, **transaction.who)
    assert answer.error_code is ErrorCode.none
    marked = [0, transaction.marked()]
    while marked[-1] < COUNT:
        assert transaction.state is State.PREPARE_COMMIT
        bob.says(heartbeat(1))
        assert len(bob.heard()) == 1
        broker.loop.wait(1)
        marked.append(transaction.marked())
    assert max(after - before for before, after in pairwise(marked)) == MARKERS_AT_ONCE
    assert transaction.state is State.COMPLETE_COMMIT
    assert transaction.marked() == COUNT


def test_resigned_coordinator_writes_no_markers() -> None:
    transaction = Transaction()
    transaction.adds()
    transaction.client.asks("end_txn", 3, committed=True, **transaction.who)
    coordinator = transaction.broker.cluster.nodes[0].transactions
    coordinator.unload(coordinator.partition_of("t"), 0)
    transaction.broker.loop.wait(50)
    assert transaction.marked() == MARKERS_AT_ONCE


def test_many_offsets_are_one_append() -> None:
    transaction = Transaction()
    broker, client, bob = transaction.broker, transaction.client, transaction.broker.client()
    assert client.asks("add_offsets_to_txn", 3, group_id="g", **transaction.who).error_code is ErrorCode.none
    partition = broker.cluster.coordinators[0].partition_of("g")
    topic = broker.cluster.topics.by_name("__consumer_offsets")
    assert topic is not None
    log = topic.partitions[partition].log
    began = log.log_end_offset
    transaction.commits(client)
    written = []
    while not client.wire.writes:
        assert broker.loop.run_soon()
        bob.says(heartbeat(1))
        assert len(bob.heard()) == 1
        written.append(log.log_end_offset - began)
    assert set(written) == {0, COUNT}
    assert len(written) > 2
    ((_, response),) = client.hears("txn_offset_commit", 3)
    answered = [each for topic in response.topics for each in topic.partitions]
    assert [(each.partition_index, each.error_code) for each in answered] == [(n, ErrorCode.none) for n in range(COUNT)]
    client.asks("end_txn", 3, committed=True, **transaction.who)
    offsets = broker.cluster.coordinators[0].groups["g"].offsets
    assert offsets is not None
    assert len(offsets.topics["wide"]) == COUNT


def test_uncoordinated_transaction_offsets() -> None:
    transaction = Transaction()
    transaction.broker.cluster.nodes[0].transactions.transactions.clear()
    transaction.commits(transaction.client)
    while transaction.broker.loop.run_soon():
        pass
    ((_, response),) = transaction.client.hears("txn_offset_commit", 3)
    errors = [partition.error_code for topic in response.topics for partition in topic.partitions]
    assert errors == [ErrorCode.invalid_producer_id_mapping] * COUNT


def test_admin_markers_are_sliced() -> None:
    transaction = Transaction()
    topics = (WritableTxnMarkerTopic(name="wide", partition_indexes=tuple(range(COUNT))),)
    marker = WritableTxnMarker(
        producer_id=9, producer_epoch=0, transaction_result=True, topics=topics, coordinator_epoch=0
    )
    response = transaction.asks("write_txn_markers", 1, markers=(marker,))
    errors = {part.error_code for each in response.markers for topic in each.topics for part in topic.partitions}
    assert errors == {ErrorCode.none}
    assert transaction.marked() == COUNT
