"""A look at a broker that has come back: does it have what was acknowledged?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kohort.protocol.batches import CONTROL, TRANSACTIONAL, crc_matches, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from tests.crash.life import Life
from tests.crash.truth import ID, MONEY, Found, Truth
from tests.support.batches import contents
from tests.support.frames import to_fetch


def topic_facts(life: Life, name: str) -> object:
    """Return the identity and the mutable settings of a topic, or None."""
    topic = life.cluster.topics.by_name(name)
    return topic and (topic.topic_id, len(topic.partitions), tuple(sorted(topic.configs.items())))


def look(life: Life, truth: Truth) -> None:
    """Check after a restart that all required data exists; from now on it must remain."""
    cluster = life.cluster
    for name in truth.topics:
        truth.topics.found(name, topic_facts(life, str(name)))
    _look_at_groups(life, truth)
    _close_transactions(life)
    visible: set[bytes] = set()
    for topic in cluster.topics:
        for index in range(len(topic.partitions)):
            known = truth.records.get((topic.topic_id, index))
            if known is not None:
                known.found(*read(life, topic.name, index), life.wall_ms)
            if topic.name == MONEY:
                visible.update(value for _, _, value in read(life, MONEY, index, committed=True)[2] if value)
    for transaction in truth.transactions:
        transaction.found(visible)
    for key in truth.commits:
        truth.commits.found(key, _committed(life, *key))  # type: ignore[misc]


def _look_at_groups(life: Life, truth: Truth) -> None:
    for name, generation in truth.generations.items():
        group = life.cluster.coordinators[0].classic_group(name)
        assert group is not None, f"group {name} is gone"
        assert group.generation_id >= generation, f"{name}: generation {group.generation_id} after {generation}"
        if group.generation_id > generation:
            continue
        for (of, number, member_id), assignment in truth.assignments.items():
            if (of, number) == (name, generation):
                assert group.members[member_id].assignment == assignment, f"{name}: {member_id} has lost its own"
                answer = life.hears("heartbeat", 3, group_id=name, generation_id=generation, member_id=member_id)
                assert answer.error_code is E.none, f"{name}: {member_id} got {answer.error_code.name}"


def _close_transactions(life: Life) -> None:
    """Abort open transactions, as the return of their producers does."""
    for _ in range(50):
        answer = life.hears("init_producer_id", 4, transactional_id=ID, transaction_timeout_ms=60_000)
        if answer.error_code is E.none:
            return
        assert answer.error_code in (E.concurrent_transactions, E.coordinator_not_available, E.not_coordinator)
        life.hears("find_coordinator", 1, coordinator_keys=(ID,), key_type=1)
        life.wait(200)
        life.settle()
    raise AssertionError(f"the transaction never ends: {answer.error_code.name}")


def _committed(life: Life, group: str, index: int) -> int:
    answer = life.hears("offset_fetch", 8, groups=to_fetch(group, MONEY, index), require_stable=False)
    assert answer.groups[0].error_code is E.none
    offset: int = answer.groups[0].topics[0].partitions[0].committed_offset
    return offset


def read(life: Life, name: str, index: int, *, committed: bool = False) -> tuple[int, int, Found]:
    """Return start, end and records of each log, without control batches."""
    topic = life.cluster.topics.by_name(name)
    assert topic is not None
    start, end = topic.partitions[index].log.log_start_offset, topic.partitions[index].log.log_end_offset
    found: Found = []
    for part in fetches(life, name, index, start, committed=committed):
        assert part.high_watermark == end, "everything that was found counts"
        aborted = [(each.first_offset, each.producer_id) for each in part.aborted_transactions or ()]
        found += _data(b"".join(part.records), start, aborted if committed else [])
    return start, end, found


def fetches(life: Life, name: str, index: int, offset: int, *, committed: bool = False) -> Iterator[Any]:
    """Yield the responses until the end of the partition; each fetch returns data of one segment."""
    while True:
        partition = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 24)
        answer = life.hears(
            "fetch", 11, max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, isolation_level=int(committed),
            topics=(FetchTopic(topic=name, partitions=(partition,)),),
        )  # fmt: skip
        (part,) = answer.responses[0].partitions
        assert part.error_code is E.none, part.error_code
        if not part.records:
            return
        yield part
        offset = max(batch.last_offset for batch in read_batches(b"".join(part.records))) + 1


def _data(data: bytes, start: int, aborted: list[tuple[int, int]]) -> Found:
    """Yield client records from `start` on, without aborted ones."""
    found: Found = []
    void: set[int] = set()
    for batch in read_batches(data):
        assert crc_matches(data, batch), f"the batch at {batch.base_offset} is damaged"
        while aborted and min(aborted)[0] <= batch.last_offset:
            void.add(min(aborted)[1])
            aborted.remove(min(aborted))
        if batch.attributes & CONTROL:
            void.discard(batch.producer_id)
        elif not (batch.attributes & TRANSACTIONAL and batch.producer_id in void):
            found += contents([data[batch.position : batch.position + batch.size]])
    return [each for each in found if each[0] >= start]
