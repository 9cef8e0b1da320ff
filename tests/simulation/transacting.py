"""Transactional producers and readers of one cluster, driven by a seed, with a record of what each must see.

Producers write to several partitions and commit offsets for groups; they commit, abort, crash in between, come back
under the same id while a brother of theirs still runs, take too long, send things twice. Brokers stop and start,
leaders and coordinators move. Readers of committed records follow, in fetch sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kohort.protocol.batches import TRANSACTIONAL, Record, build_batch, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.protocol.messages.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from kohort.storage.topic import Topic
from tests.simulation.restless import RestlessCluster
from tests.simulation.transactional_reader import AGAIN, PARTITIONS, TOPIC, Reader
from tests.support.broker import Client
from tests.support.frames import to_fetch

GROUPS = ("orders", "billing")
IDS = ("ada", "bob", "cyd", "dan")
TIMEOUT_MS = 20_000
LOST = (
    E.producer_fenced,
    E.invalid_producer_epoch,
    E.invalid_txn_state,
    E.invalid_producer_id_mapping,
    E.transaction_abortable,
    E.out_of_order_sequence_number,
)
"""Raised when a client closes and starts again."""
OLD, NEW = 0, 5
"""Clients that add partitions themselves, and such that leave it to the broker and get an epoch with each end."""


@dataclass(eq=False)
class Work:
    """A transaction, and what it has written, as was acknowledged."""

    producer_id: int
    records: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Partition, offset, value."""
    offsets: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """By group and partition: the order of the commit, and the offset."""
    committed: bool | None = None
    """None: it is open."""


class Producer:
    """One incarnation of a transactional id, which ends when another one starts."""

    def __init__(self, transactional_id: str, form: int) -> None:
        self.id = transactional_id
        self.form = form
        self.producer_id = self.epoch = -1
        self.sequences: dict[int, int] = {}
        self.added: set[int] = set()
        self.last_batch: tuple[int, bytes, int] | None = None
        self.work: Work | None = None

    def begins(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self.sequences, self.added, self.last_batch, self.work = {}, set(), None, None


class Bank(RestlessCluster):
    """The cluster, its clients, and the record of their transactions."""

    def __init__(self, seed: int, **settings: Any) -> None:
        super().__init__(
            seed,
            offsets_topic_num_partitions=2,
            transaction_state_log_num_partitions=3,
            auto_leader_rebalance_enable="false",
            connections_max_idle_ms=-1,
            **settings,
        )
        self.cluster.transaction_topic.create(0)
        made = self.cluster.topics.create(TOPIC, PARTITIONS, 3)
        assert isinstance(made, Topic)
        self.topic = made
        self.producers: list[Producer] = []
        self.done: list[Work] = []
        self.plain: list[tuple[int, int, bytes]] = []
        """Records without a transaction: partition, offset, value."""
        self.number = 0
        self.stable = [0] * PARTITIONS
        self.readers = [Reader(self, number) for number in range(3)]
        self.counts = {"committed": 0, "aborted": 0, "fenced": 0, "refused": 0, "repeated": 0}

    # the right broker

    def leader(self, partition: int) -> Client | None:
        return self.client_of(self.topic.partitions[partition].leader)

    def home(self, transactional_id: str) -> Client | None:
        home = self.cluster.transaction_topic.home_of(transactional_id)
        return None if home is None else self.client_of(home)

    # What happens

    def actions(self) -> dict[Callable[[], None], float]:
        return {
            self.writes: 40, self.commits_offset: 10, self.ends: 18, self.begins: 6, self.crashes: 1, self.plainly: 8,
            self.repeats: 3, self.follows: 20, self.passes: 20, self.moves: 2, self.stops: 0.5, self.starts: 3,
        }  # fmt: skip

    def begins(self) -> None:
        """Start a producer, which fences the previous one of its id."""
        transactional_id = self.random.choice(IDS)
        client = self.home(transactional_id)
        if client is None:
            return
        answer = client.asks(
            "init_producer_id", 5, transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS
        )
        self.say(f"{transactional_id} begins <- {answer.error_code.name}")
        older = [each for each in self.producers if each.id == transactional_id]
        if answer.error_code is E.none:
            producer = Producer(transactional_id, self.random.choice((OLD, NEW)))
            producer.begins(answer.producer_id, answer.producer_epoch)
            assert all(each.producer_id != producer.producer_id or each.epoch < producer.epoch for each in older)
            self.producers.append(producer)
        else:
            assert answer.error_code in AGAIN
        if answer.error_code in (E.none, E.concurrent_transactions):
            # Whatever was open under this id is aborted, or was being ended.
            for each in older:
                self.ended(each, committed=False)

    def writes(self) -> None:
        producer = self.somebody()
        if producer is None:
            return
        partition = self.random.randrange(PARTITIONS)
        if producer.form == OLD and partition not in producer.added and not self.adds(producer, partition):
            return
        self.number += 1
        value = b"%s %d" % (producer.id.encode(), self.number)
        sequence = producer.sequences.get(partition, 0)
        batch = build_batch(
            [Record(None, value, self.cluster.clock.epoch_ms)],
            attributes=TRANSACTIONAL,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
        )
        response = self.sends(partition, batch, producer)
        if response is None:
            return
        error, offset = response
        self.say(f"{producer.id}.{producer.epoch} writes {value.decode()} to {partition} <- {error.name}")
        if error is E.none:
            producer.sequences[partition] = sequence + 1
            producer.last_batch = partition, batch, offset
            self.work_of(producer).records.append((partition, offset, value))
        else:
            self.refused(producer, error)

    def adds(self, producer: Producer, partition: int) -> bool:
        client = self.home(producer.id)
        if client is None:
            return False
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=producer.id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=(AddPartitionsToTxnTopic(name=TOPIC, partitions=(partition,)),),
        )
        (result,) = client.asks("add_partitions_to_txn", 3, transactions=(transaction,)).results_by_transaction
        error = result.topic_results[0].results_by_partition[0].partition_error_code
        if error is E.none:
            producer.added.add(partition)
            self.work_of(producer)
            return True
        self.refused(producer, error)
        return False

    def sends(self, partition: int, batch: bytes, producer: Producer | None) -> tuple[E, int] | None:
        client = self.leader(partition)
        if client is None:
            return None
        version = 12 if producer is not None and producer.form == NEW else 11
        answer = client.asks(
            "produce",
            version,
            transactional_id=None if producer is None else producer.id,
            acks=-1,
            timeout_ms=9,
            topic_data=(
                TopicProduceData(name=TOPIC, partition_data=(PartitionProduceData(index=partition, records=batch),)),
            ),
        )
        part = answer.responses[0].partition_responses[0]
        return part.error_code, part.base_offset

    def repeats(self) -> None:
        """Send a batch again as after a lost response; the log must contain it once."""
        producer = self.somebody()
        if producer is None or producer.last_batch is None or producer.work is None:
            return
        partition, batch, offset = producer.last_batch
        if producer.sequences[partition] - 1 != read_batches(batch)[0].base_sequence:
            return
        response = self.sends(partition, batch, producer)
        if response is not None and response[0] is E.none:
            self.counts["repeated"] += 1
            assert response[1] == offset

    def commits_offset(self) -> None:
        producer = self.somebody()
        group, partition = self.random.choice(GROUPS), self.random.randrange(2)
        client = self.coordinator(group)
        if producer is None or producer.form == OLD or client is None:
            return
        self.number += 1
        part = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=self.number, committed_metadata=""
        )
        answer = client.asks(
            "txn_offset_commit",
            5,
            transactional_id=producer.id,
            group_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=(TxnOffsetCommitRequestTopic(name=TOPIC, partitions=(part,)),),
        )
        error = answer.topics[0].partitions[0].error_code
        self.say(f"{producer.id}.{producer.epoch} commits {self.number} for {group}-{partition} <- {error.name}")
        if error is E.none:
            self.work_of(producer).offsets[group, partition] = self.number, self.number
        else:
            self.refused(producer, error)

    def ends(self) -> None:
        producer = self.somebody()
        if producer is None or producer.work is None:
            return
        client = self.home(producer.id)
        if client is None:
            return
        committed = self.random.random() < 0.7
        answer = client.asks(
            "end_txn",
            3 if producer.form == OLD else 5,
            transactional_id=producer.id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=committed,
        )
        self.say(f"{producer.id}.{producer.epoch} ends, committed: {committed} <- {answer.error_code.name}")
        if answer.error_code is not E.none:
            self.refused(producer, answer.error_code)
            return
        assert producer.work.committed is not False or not committed, "what was aborted is committed"
        self.ended(producer, committed=committed)
        if producer.form == NEW:
            producer.begins(answer.producer_id, answer.producer_epoch)
        else:
            producer.added, producer.work, producer.last_batch = set(), None, None

    def crashes(self) -> None:
        producer = self.somebody()
        if producer is not None:
            self.say(f"{producer.id}.{producer.epoch} crashes")
            self.producers.remove(producer)
            if producer.work is not None:
                self.done.append(producer.work)

    def plainly(self) -> None:
        """Write without a transaction."""
        partition = self.random.randrange(PARTITIONS)
        self.number += 1
        value = b"plain %d" % self.number
        response = self.sends(partition, build_batch([Record(None, value, self.cluster.clock.epoch_ms)]), None)
        if response is not None and response[0] is E.none:
            self.plain.append((partition, response[1], value))

    def follows(self) -> None:
        self.random.choice(self.readers).polls()

    def passes(self) -> None:
        self.broker.loop.wait(self.random.choices((1, 50, 1_000, 12_000), (60, 30, 9, 2))[0])
        self.broker.loop.run_soon()

    # The account

    def somebody(self) -> Producer | None:
        return self.random.choice(self.producers) if self.producers else None

    def work_of(self, producer: Producer) -> Work:
        if producer.work is None:
            producer.work = Work(producer.producer_id)
        assert producer.work.committed is None, "something is written to a transaction that has ended"
        return producer.work

    def refused(self, producer: Producer, error: E) -> None:
        """Close a client that cannot continue; its transaction may still be open."""
        self.counts["refused"] += 1
        if error in AGAIN:
            return
        assert error in LOST, error
        self.counts["fenced"] += 1
        if producer in self.producers:
            self.producers.remove(producer)
            if producer.work is not None:
                self.done.append(producer.work)

    def ended(self, producer: Producer, *, committed: bool) -> None:
        work = producer.work
        if work is not None and work.committed is None:
            work.committed = committed
            self.counts["committed" if committed else "aborted"] += 1
            self.done.append(work)

    def works(self) -> list[Work]:
        """Return all transactions that wrote anything."""
        running = [producer.work for producer in self.producers if producer.work is not None]
        return list({id(each): each for each in (*self.done, *running)}.values())

    def settle(self) -> None:
        """Start everything, and let open transactions time out."""
        self.all_run()
        for _ in range(6):
            self.broker.loop.wait(TIMEOUT_MS)
            self.broker.loop.run_soon()
        for work in self.works():
            work.committed = work.committed is True

    def committed_records(self, partition: int) -> list[tuple[int, bytes]]:
        """Return offsets and values that a read_committed reader must get from a partition."""
        works = [record for transaction in self.works() if transaction.committed for record in transaction.records]
        return sorted((offset, value) for index, offset, value in (*works, *self.plain) if index == partition)

    def committed_offsets(self) -> dict[tuple[str, int], int]:
        """Return the final offsets of groups: those of the last committed transaction."""
        latest: dict[tuple[str, int], tuple[int, int]] = {}
        for work in self.works():
            if work.committed:
                for place, offset in work.offsets.items():
                    latest[place] = max(offset, latest.get(place, (0, 0)))
        return {place: offset for place, (_, offset) in latest.items()}

    def offset_of(self, group: str, partition: int, *, stable: bool) -> tuple[E, int] | None:
        """Return the response of OffsetFetch, or None without one."""
        client = self.coordinator(group)
        if client is None:
            return None
        groups = to_fetch(group, TOPIC, partition)
        (told,) = client.asks("offset_fetch", 8, groups=groups, require_stable=stable).groups
        if told.error_code is not E.none:
            assert told.error_code in AGAIN
            return None
        part: Any = told.topics[0].partitions[0]
        return part.error_code, part.committed_offset
