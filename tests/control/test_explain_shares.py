"""Explanations of share groups: owners of records, and reasons for missing deliveries."""

from __future__ import annotations

from kohort.protocol.batches import TRANSACTIONAL
from kohort.storage.producers import Remembered
from tests.control.sharing_lab import SharingLab
from tests.support.batches import batch


def why(lab: SharingLab, offset: int) -> str:
    """Return why a record is not delivered."""
    told = lab.queue.explain_record(lab.topic, 0, offset)
    name, _, sentence = told.partition(": ")
    assert name == f"{lab.topic}-0 {offset}"
    return sentence


def partition(lab: SharingLab) -> str:
    """Return the explanation of the only partition."""
    (told,) = lab.queue.explain().partitions
    return told.removeprefix(f"{lab.topic}-0: ")


def ada_fetches(lab: SharingLab, epoch: int = 0, most: int = 500) -> None:
    """Let ada fetch at most this many records."""
    partitions = ", from: {$topic: [0]}" if not epoch else ""
    lab.talk(f"""
        ada ShareFetch v2 {{epoch: {epoch}, max_records: {most}, share_acquire_mode: 1{partitions}}}
          <- NONE
        """)


def test_lock_owner_and_expiry(shared: SharingLab) -> None:
    shared.produce("a b c")
    ada_fetches(shared, most=2)
    shared.talk("wait 400 ms")
    (wait,) = shared.queue.explain().waits
    assert (wait.for_whom, wait.ends_in_ms) == (("ada",), 1_600)
    assert wait.what == f"to acknowledge {shared.topic}-0 0-1, delivered once"
    assert wait.then == "other members may acquire them"
    assert partition(shared) == "begins at 0, 2 held, lag 3; 2 can be acquired next"
    (ada,) = shared.queue.explain().clients
    assert ada.should.endswith("should send heartbeats, and acknowledge the 2 records it holds")
    assert why(shared, 1) == "ada holds it; in 1.6 s: other members may acquire it; delivered once of 3"
    assert why(shared, 2) == "available, never delivered"
    assert why(shared, 3) == "not written yet; the log ends at 3"


def test_nobody_has_fetched_yet(shared: SharingLab) -> None:
    shared.produce("a")
    assert partition(shared) == (
        "not loaded at any leader yet: no member has fetched from it since node 1 leads it; "
        "ada should fetch from node 1, and has no share session there"
    )
    assert why(shared, 0).endswith("the group's start offset is not determined yet (share.auto.offset.reset)")


def test_last_delivery_is_mentioned(shared: SharingLab) -> None:
    shared.produce("a")
    ada_fetches(shared)
    for epoch in (1, 2):
        shared.queue.redeliver()
        ada_fetches(shared, epoch)
    (wait,) = shared.queue.explain().waits
    assert wait.then == "archived, as 3 deliveries are the limit"
    assert why(shared, 0) == "ada holds it; in 2 s: archived; delivered 3 times of 3"


def test_below_the_start(shared: SharingLab) -> None:
    shared.produce("a b")
    ada_fetches(shared)
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {0: {0: accept}}}}
          <- NONE
        """)
    assert why(shared, 0) == "accepted by ada, delivered once"
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {1: reject}}}}
          <- NONE
        """)
    assert why(shared, 1) == "rejected by ada, delivered once"
    assert partition(shared) == "begins at 2, 0 held, lag 0; no records remain"


def test_delivery_limit_archives_record(shared: SharingLab) -> None:
    shared.produce("a")
    for epoch in range(3):
        ada_fetches(shared, epoch)
        shared.queue.redeliver()
    assert why(shared, 0) == "archived, delivered 3 times, the group's delivery limit (3)"
    assert shared.queue.delivery_count(shared.topic, 0, 0) == 3


def test_slow_member_exceeds_lock_duration(shared: SharingLab) -> None:
    shared.produce("a")
    ada_fetches(shared)
    shared.talk("wait 2000 ms")
    assert shared.queue.explain().badly_set == ()
    ada_fetches(shared, 1)
    shared.talk("wait 2000 ms")
    (told,) = shared.queue.explain().badly_set
    assert told.startswith(
        "ada has let its locks expire 2 times, and its records were delivered to other members: locks last 2 s "
        "(share.record.lock.duration.ms)"
    )


def test_deleted_record(shared: SharingLab) -> None:
    shared.produce("a b")
    shared.laboratory.topics.delete_records(shared.topic, 1)
    assert why(shared, 0) == "deleted from the log, which starts at 1"


def test_too_many_are_in_flight(shared: SharingLab) -> None:
    shared.talk("""
        zoe IncrementalAlterConfigs v1 {configs: {share.partition.max.record.locks: 100}}
          <- {responses: [{error_code: NONE}]}
        """)
    shared.produce(" ".join("a" * 100))
    shared.produce("b")
    ada_fetches(shared)
    assert partition(shared) == (
        "begins at 0, 100 held, lag 101; no new records are acquired: 100 records from 0 on are in flight, "
        "and the limit is 100 (share.partition.max.record.locks); 0 is the first, which ada holds, in 2 s"
    )
    assert why(shared, 100).startswith(
        "never delivered; no new records are acquired: 100 records from 0 on are in flight"
    )


def test_departed_member_leaves_partition_unassigned(shared: SharingLab) -> None:
    shared.produce("a")
    ada_fetches(shared)
    shared.talk("""
        ada share-beats {member_epoch: -1}
          <- NONE
        """)
    assert partition(shared) == "begins at 0, 1 held, lag 1; all records are acquired"
    shared.talk("ada disconnects")
    assert "it is assigned to no member" in partition(shared)


def test_open_transaction_blocks_records(shared: SharingLab) -> None:
    shared.talk("""
        zoe IncrementalAlterConfigs v1 {configs: {share.isolation.level: read_committed}}
          <- {responses: [{error_code: NONE}]}
        """)
    shared.produce("a")
    ada_fetches(shared)
    _begin_a_transaction(shared)
    assert partition(shared) == (
        "begins at 0, 1 held, lag 2; from 1 on records wait for an open transaction to end "
        "(share.isolation.level read_committed)"
    )
    assert why(shared, 1) == (
        "never delivered; it waits for an open transaction to end (share.isolation.level read_committed)"
    )


def _begin_a_transaction(lab: SharingLab) -> None:
    """Append a record of a producer with an open transaction."""
    cluster = lab.laboratory.cluster
    topic = cluster.topics.by_name(lab.topic)
    assert topic is not None
    partition, records = topic.partitions[0], batch(b"x", attributes=TRANSACTIONAL, producer=(1, 0, 0))

    def append(now_ms: int) -> None:
        offset = cluster.append(partition, records, now_ms)
        cluster.topics.producers_of(partition).appended(
            1, 0, Remembered(0, 0, offset, 1_000), 1_000, transactional=True
        )

    lab.laboratory.brokers.act(append)
