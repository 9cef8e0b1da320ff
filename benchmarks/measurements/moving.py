"""A coordinator's partition moves to another node and back: pauses of all other clients, without sockets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic, thread_time

from benchmarks.bench import Bench
from benchmarks.measurements.restart import stable
from kohort.base.logs import log
from kohort.broker.cluster.moving import move_leader
from kohort.broker.runtime.run import collect_garbage_seldom
from kohort.coordinator.context import Shard
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.coordinator.offsets.offsets_topic_records import group_key, group_value
from kohort.protocol.batches import EncodedRecords, encode_record
from tests.support.broker import Broker
from tests.support.manual_clock import ManualClock

GROUPS, COMMITS = 10_000, 20  # groups of one member, in one partition, and commits of each


class RunningClock(ManualClock):
    """Manual clock that also follows the machine's clock."""

    @property
    def _now_ms(self) -> int:
        return self._ahead_ms + int(monotonic() * 1_000)

    @_now_ms.setter
    def _now_ms(self, now_ms: int) -> None:
        self._ahead_ms = now_ms - int(monotonic() * 1_000)


async def measure(bench: Bench) -> None:
    """Measure the longest iterations of the event loop, in CPU time of its thread."""
    groups = GROUPS // 10 if bench.quick else GROUPS
    log.configure(level="warning")
    collect_garbage_seldom()  # as a broker does
    broker = Broker(nodes=2, clock=RunningClock(), offsets_topic_num_partitions=1, offsets_topic_replication_factor=1)
    cluster = broker.cluster
    broker.client().asks("find_coordinator", 4, coordinator_keys=("g",), key_type=0)
    broker.loop.ring()
    topic = cluster.topics.by_name(OFFSETS_TOPIC)
    assert topic is not None, "a client has requested a coordinator"
    (moved,) = topic.partitions
    now_ms = broker.clock.epoch_ms + broker.clock.now_ms()
    for record in _records(groups, now_ms):
        moved.log.append(EncodedRecords(record, 1).batch(now_ms), wall_ms=now_ms)
    for title in ("taken over", "moved"):
        node = next(group for group in cluster.nodes if group.id != moved.leader)
        turns = [_timed_ms(partial(broker.server.act, partial(move_leader, cluster, topic, moved, node.id)))]
        while node.coordinator.shards.get(moved.index) is not Shard.ACTIVE:
            turns.append(_timed_ms(broker.loop.ring))
        assert len(node.coordinator.groups) == groups, "all are there"
        bench.figure(f"{title}, processor time", "ms", sum(turns))
        bench.figure(f"{title}, its first turn", "ms", turns[0])
        bench.figure(f"{title}, the longest other turn", "ms", max(turns[1:]))


def _timed_ms(turn: Callable[[], object]) -> float:
    before_s = thread_time()
    turn()
    return (thread_time() - before_s) * 1_000


def _records(groups: int, now_ms: int) -> list[bytes]:
    names = [f"group-{number:05}" for number in range(groups)]
    committed = CommittedOffset("", None)
    records = [encode_record(group_key(name), group_value(stable(name, now_ms)), 0) for name in names]
    for number in range(COMMITS):
        for name in names:
            committed.forget_record()
            records.append(committed.record(name, "orders", number % 4, 0, number, -1, now_ms))
    return records
