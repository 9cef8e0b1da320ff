"""With --fsync always nothing is acknowledged, or read, that is not on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from errno import EIO
from pathlib import Path

import pytest

from kohort.broker.cluster.disk_syncing import SyncNowAndThen, SyncThreads, _sync
from kohort.protocol.errors import ErrorCode
from kohort.whatif.clients.group_member import to_commit
from tests.support.batches import batch
from tests.support.broker import Client
from tests.support.data_requests import fetch_frame, heard_fetch, production, records
from tests.support.frames import frame
from tests.support.slow_disk import OnSlowDisk


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OnSlowDisk]:
    on_disk = OnSlowDisk(tmp_path)
    on_disk.cluster.topics.create("orders", 1)
    on_disk.cluster.offsets_topic.create(0)
    on_disk.directory.take_noted()
    yield on_disk
    on_disk.directory.abandon()


def produce(client: Client, *values: bytes, acks: int = -1) -> None:
    client.says(frame("produce", 9, **production(batch(*values), "orders", acks=acks)))


def produced(client: Client) -> tuple[ErrorCode, int]:
    ((_, response),) = client.hears("produce", 9)
    (part,) = response.responses[0].partition_responses
    return part.error_code, part.base_offset


def commit(client: Client, offset: int) -> None:
    topics = to_commit("orders", {0: offset}, None)
    client.says(frame("offset_commit", 7, group_id="g", member_id="", topics=topics))


def committed(client: Client) -> ErrorCode:
    ((_, response),) = client.hears("offset_commit", 7)
    code: ErrorCode = response.topics[0].partitions[0].error_code
    return code


def test_produce_waits_for_sync(broker: OnSlowDisk) -> None:
    ada, bob = broker.client(), broker.client()
    produce(ada, b"one")
    produce(bob, b"two")
    broker.loop.run_soon()
    assert ada.heard() == bob.heard() == []
    broker.threads.finish()
    assert (produced(ada), produced(bob)) == ((ErrorCode.none, 0), (ErrorCode.none, 1))


def test_write_during_sync_waits_for_next(broker: OnSlowDisk) -> None:
    ada, bob, cyd = broker.client(), broker.client(), broker.client()
    produce(ada, b"one")
    broker.loop.run_soon()
    produce(bob, b"two")
    commit(cyd, 5)
    broker.threads.finish()
    assert produced(ada) == (ErrorCode.none, 0)
    assert bob.heard() == cyd.heard() == []
    broker.sync()
    assert produced(bob) == (ErrorCode.none, 1)
    assert committed(cyd) is ErrorCode.none


def test_acks_0_does_not_wait(broker: OnSlowDisk) -> None:
    ada = broker.client()
    produce(ada, b"one", acks=0)
    produce(ada, b"two", acks=1)
    broker.sync()
    assert produced(ada) == (ErrorCode.none, 1)


def test_unsynced_records_are_not_readable(broker: OnSlowDisk) -> None:
    ada, bob = broker.client(), broker.client()
    produce(ada, b"one")
    bob.says(fetch_frame(("orders", 0, 0), max_wait_ms=500))
    broker.loop.run_soon()
    assert bob.heard() == []
    broker.threads.finish()
    response = heard_fetch(bob)
    assert response.responses[0].partitions[0].high_watermark == 1
    assert records(response) == [(0, None, b"one")]


def test_failed_sync_is_the_last(broker: OnSlowDisk) -> None:
    ada, bob = broker.client(), broker.client()
    produce(ada, b"one")
    commit(bob, 5)
    broker.sync(OSError(EIO, "Input/output error"))
    assert produced(ada) == (ErrorCode.kafka_storage_error, -1)
    assert committed(bob) is ErrorCode.not_coordinator
    produce(ada, b"two")
    assert produced(ada) == (ErrorCode.kafka_storage_error, -1)
    assert broker.cluster.topics.by_name("orders").partitions[0].log.high_watermark == 0  # type: ignore[union-attr]


def test_periodic_sync_without_waiters(tmp_path: Path) -> None:
    broker = OnSlowDisk(tmp_path, always=False)
    broker.cluster.topics.create("orders", 1)
    SyncNowAndThen(broker.cluster, broker.syncs, 1_000).wait(0)
    ada = broker.client()
    produce(ada, b"one")
    assert produced(ada) == (ErrorCode.none, 0)
    assert broker.directory.disk.unsynced
    broker.loop.wait(1_000)
    broker.sync()
    assert not broker.directory.disk.unsynced
    broker.directory.abandon()


def test_failing_response_blocks_no_other(broker: OnSlowDisk) -> None:
    client = broker.client()

    def fail(now_ms: int, problem: OSError | None) -> None:
        raise ZeroDivisionError

    broker.syncs.after(fail)
    produce(client, b"1")
    broker.sync()
    assert len(client.heard()) == 1


def test_unexpected_sync_error_fails_writes() -> None:
    class Closed:
        def sync(self) -> None:
            raise ValueError("I/O operation on closed file")

    problem = _sync([Closed()])
    assert problem is not None
    assert problem.errno == EIO


async def test_no_sync_starts_after_stop() -> None:
    # SIGTERM under load: the end of a sync would otherwise start the next one

    class File:
        synced = False

        def sync(self) -> None:
            self.synced = True

    told: list[OSError | None] = []
    threads, file = SyncThreads(asyncio.get_running_loop()), File()
    threads.sync([file], told.append)
    threads.stop()
    threads.sync([File()], told.append)
    await asyncio.sleep(0)
    assert file.synced
    assert told == [None]
