"""Transactions, compared with responses of Apache Kafka 4.3.0 to the same requests."""

from __future__ import annotations

from functools import partial
from io import StringIO

import pytest

from kohort.broker.cluster.moving import move_leader
from kohort.coordinator.groups.loading import Loading, unload
from kohort.protocol.batches import read_batches
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kohort.storage.producers import Producers
from tests.broker.transactional_producer import GROUP, TOPIC, E, Producer
from tests.support.broker import Broker


def test_read_committed_waits_for_end() -> None:
    ada = Producer()
    ada.init()
    assert ada.adds(0) == [E.none]
    assert ada.writes(9) is E.none
    assert ada.reads() == ([], [], 0)
    assert ada.ends(3, committed=True) is E.none
    assert ada.reads() == ([0, 1], [], 2)
    ada.adds(0)
    ada.writes(9)
    ada.ends(3, committed=False)
    assert ada.reads() == ([0, 1, 2, 3], [2], 4)
    assert ada.reads(4) == ([], [], 4)


@pytest.mark.parametrize(("version", "error"), [(9, E.invalid_txn_state), (11, E.transaction_abortable)])
def test_older_clients_add_partitions_first(version: int, error: E) -> None:
    ada = Producer()
    ada.init()
    assert ada.writes(version) is error
    assert ada.adds(0, 7) == [E.operation_not_attempted, E.unknown_topic_or_partition]


def test_newer_clients_add_partitions_implicitly() -> None:
    ada = Producer(nodes=2)
    ada.init()
    assert [ada.writes(12, 0), ada.writes(12, 1)] == [E.none, E.none]
    assert ada.ends(5, committed=True) is E.none
    assert ada.epoch == 1
    assert ada.reads(partition=1) == ([0, 1], [], 2)
    assert ada.ends(5, committed=True, epoch=0) is E.none, "the response was lost, and the request is retried"
    assert ada.ends(5, committed=True) is E.invalid_txn_state
    assert ada.ends(5, committed=False) is E.none, "who may have written something may abort it"
    assert ada.epoch == 2
    assert ada.writes(12, epoch=0) is E.invalid_producer_epoch


def test_newer_producer_fences_older() -> None:
    ada = Producer()
    ada.init()
    ada.adds(0)
    ada.writes(9)
    assert ada.init() is E.concurrent_transactions
    assert ada.init() is E.none
    assert ada.epoch == 2
    assert ada.reads() == ([0, 1], [0], 2)
    assert ada.adds(0, epoch=0) == [E.producer_fenced]
    assert ada.ends(3, committed=True, epoch=0) is E.producer_fenced
    assert ada.writes(9, epoch=0) is E.invalid_producer_epoch


def test_repeated_init_with_identity() -> None:
    ada = Producer()
    ada.init()
    who = {"producer_id": ada.producer_id, "producer_epoch": 0}
    assert [ada.init(**who), ada.epoch, ada.init(**who), ada.epoch] == [E.none, 1, E.none, 1]
    ada.init()
    assert ada.init(**who) is E.producer_fenced


def test_exhausted_epoch_changes_producer_id() -> None:
    ada = Producer()
    ada.init()
    first = ada.producer_id
    for node in ada.broker.cluster.nodes:
        for transaction in node.transactions.transactions.values():
            transaction.producer_epoch = ada.epoch = 2**15 - 2
    ada.writes(12)
    assert ada.ends(5, committed=True) is E.none
    assert (ada.producer_id != first, ada.epoch) == (True, 0)
    assert ada.writes(12) is E.none


def test_slow_transaction_is_aborted() -> None:
    ada = Producer()
    ada.init()
    ada.writes(12)
    ada.broker.loop.wait(60_000)
    assert ada.reads()[2] == 0
    ada.broker.loop.wait(10_000)
    assert ada.reads() == ([0, 1], [0], 2)
    assert ada.ends(5, committed=True) is E.invalid_txn_state, "as if it had aborted and lost the response"
    assert ada.writes(12) is E.invalid_producer_epoch
    assert ada.ends(5, committed=False) is E.none


def test_idle_transactional_id_expires() -> None:
    ada = Producer(transactional_id_expiration_ms=1_000, connections_max_idle_ms=-1)
    ada.init()
    old_producer_id = ada.producer_id
    ada.broker.loop.wait(3_600_000)
    assert ada.adds(0) == [E.invalid_producer_id_mapping]
    ada.init()
    assert (ada.producer_id > old_producer_id, ada.epoch) == (True, 0)


def test_list_offsets_ends_at_stable_offset() -> None:
    ada = Producer()
    ada.init()
    ada.writes(12)
    topic = ListOffsetsTopic(name=TOPIC, partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),))
    ends = [
        ada.leader().asks("list_offsets", 5, replica_id=-1, isolation_level=level, topics=(topic,)) for level in (0, 1)
    ]
    assert [end.topics[0].partitions[0].offset for end in ends] == [1, 0]


@pytest.mark.parametrize(("home", "coordinator"), [(1, 2), (2, 1)])
def test_any_node_answers_commits(home: int, coordinator: int) -> None:
    ada = Producer(nodes=2)
    cluster = ada.broker.cluster
    topics = [cluster.topics.by_name(name) for name in ("__transaction_state", "__consumer_offsets")]
    for topic, node_id in zip(topics, (home, coordinator), strict=True):
        assert topic is not None
        for partition in topic.partitions:
            ada.broker.server.act(partial(move_leader, cluster, topic, partition, node_id))
    cluster.replays.run_at_once()
    ada.home = ada.broker.client(home - 1)
    ada.init()
    assert ada.commits_offset(5, 5) is E.none
    ada.ends(5, committed=True)
    assert ada.offset() == [5]


@pytest.mark.parametrize(("committed", "seen"), [(True, [5]), (False, [])])
def test_offsets_count_when_their_transaction_does(committed: bool, seen: list[int]) -> None:
    ada = Producer(nodes=2)
    ada.init()
    assert ada.commits_offset(3, 4) is E.invalid_txn_state, "the group was not added"
    assert ada.commits_offset(5, 5) is E.none
    assert ada.offset() == []
    ada.ends(5, committed=committed)
    assert ada.offset() == seen


def takes_over(broker: Broker) -> None:
    """Unload the group at its coordinator and load it again."""
    cluster = broker.cluster
    coordinator = cluster.nodes[0].coordinator
    number = coordinator.partition_of(GROUP)
    unload(coordinator, number, 0)
    loading = Loading(coordinator, number)
    for batch in cluster.topics.by_name("__consumer_offsets").partitions[number].log.batches():  # type: ignore[union-attr]
        for header in read_batches(batch):
            loading.apply_batch(batch, header)
    assert loading.finish(0) == 1


@pytest.mark.parametrize("moment", ["never", "open", "half", "over"])
def test_later_commit_wins(moment: str) -> None:
    ada = Producer()
    ada.init()
    bob = ada.another("y")

    def passes(now: str) -> None:
        if now == moment:
            takes_over(ada.broker)

    ada.commits_offset(5, 5)
    bob.commits_offset(5, 7)
    passes("open")
    bob.ends(5, committed=True)
    passes("half")
    ada.ends(5, committed=True)
    passes("over")
    assert ada.offset() == [7]
    ada.commits_offset(5, 15)
    bob.commits_offset(5, 17)
    passes("open")
    ada.ends(5, committed=True)
    passes("half")
    bob.ends(5, committed=True)
    passes("over")
    assert ada.offset() == [17]
    ada.commits_offset(5, 25)
    bob.commits_offset(5, 27)
    passes("open")
    bob.ends(5, committed=False)
    passes("half")
    ada.ends(5, committed=True)
    passes("over")
    assert ada.offset() == [25], "aborted offsets have no effect"


@pytest.mark.parametrize("ended", [True, False])
def test_new_coordinator_has_open_transactions(ended: bool) -> None:
    ada = Producer()
    ada.init()
    ada.commits_offset(5, 5)
    if ended:
        ada.ends(5, committed=True)
    takes_over(ada.broker)
    if not ended:
        assert ada.offset() == []
        ada.ends(5, committed=True)
    assert ada.offset() == [5]


def test_coordinator_loads_from_log(lines: StringIO) -> None:
    ada = Producer()
    ada.init()
    ada.writes(12)
    topic = ada.broker.cluster.transaction_topic
    coordinator = ada.broker.cluster.nodes[0].transactions
    before = dict(coordinator.transactions)
    for partition in ada.broker.cluster.topics.by_name("__transaction_state").partitions:  # type: ignore[union-attr]
        topic.resigned(partition, 0)
    assert coordinator.transactions == {}
    for partition in ada.broker.cluster.topics.by_name("__transaction_state").partitions:  # type: ignore[union-attr]
        topic.elected(partition, 0)
    ada.broker.cluster.replays.run_at_once()
    # The epoch before the last bump is not in the log.
    assert coordinator.transactions == before
    assert "loaded 1 transactional ids from" in lines.getvalue()
    assert ada.ends(5, committed=True) is E.none
    assert ada.reads() == ([0, 1], [], 2)


def test_replayed_log_has_transactions() -> None:
    ada = Producer()
    ada.init()
    for committed in (True, False):
        ada.writes(12)
        ada.ends(5, committed=committed)
    ada.writes(12)
    partition = ada.broker.cluster.topics.by_name(TOPIC).partitions[0]  # type: ignore[union-attr]
    replayed = Producers()
    for batch in partition.log.batches():
        for header in read_batches(batch):
            replayed.replay(batch, header)
    producers = partition.producers
    assert producers is not None
    assert [each[:3] + each[4:] for each in replayed.described()] == [
        each[:3] + each[4:] for each in producers.described()
    ]
    assert replayed.transactions.aborted_in(0, 99) == producers.transactions.aborted_in(0, 99)
    assert replayed.transactions.last_stable_offset(99) == producers.transactions.last_stable_offset(99) == 4
