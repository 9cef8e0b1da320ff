"""A held request ends like any other: its disk may be full, and its changes are synced first."""

from __future__ import annotations

from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from kohort.control.clock.lab_clock import LabClock
from kohort.control.laboratory import Laboratory
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_topics import CreatableTopic
from kohort.storage.topics import Topics
from kohort.whatif.clients.group_member import to_commit
from tests.support.broker import Client
from tests.support.frames import frame
from tests.support.slow_disk import OnSlowDisk


class HeldOnSlowDisk(OnSlowDisk):
    """A broker in a laboratory. With --fsync always; its syncs take as long as the test likes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.laboratory = Laboratory(self.cluster, LabClock(self.clock))
        self.laboratory.attach(self.server)

    def wait(self, seconds: float) -> None:
        """Advance the brokers' clock."""
        self.clock.advance(round(seconds * 1000))
        self.server.advance(self.clock.now_ms())
        for _ in range(3):  # a turn for what was held, one for the sync, one for what follows
            self.loop.run_soon()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[HeldOnSlowDisk]:
    made = HeldOnSlowDisk(tmp_path)
    yield made
    made.directory.abandon()


def create(client: Client) -> None:
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1, assignments=(), configs=())
    client.says(frame("create_topics", 5, topics=(topic,), timeout_ms=1_000, validate_only=False))


def created(client: Client) -> list[ErrorCode]:
    """Return the response to CreateTopics, or an empty list while it is pending."""
    return [response.topics[0].error_code for _, response in client.hears("create_topics", 5)]


def test_full_disk_is_reported_after_delay(broker: HeldOnSlowDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(Topics, "creating", full)
    monkeypatch.setattr(Topics, "next_producer_id", full)
    ada = broker.client()
    for _ in range(2):
        ada.says(frame("init_producer_id", 1, transactional_id=None, transaction_timeout_ms=1_000))
        broker.wait(1)
        ((_, response),) = ada.hears("init_producer_id", 1)
        assert response.error_code is ErrorCode.kafka_storage_error
        create(ada)
        broker.wait(1)
        assert created(ada) == [ErrorCode.kafka_storage_error]
        broker.laboratory.faults.on().delay(seconds=1)


def test_delayed_request_is_synced_before_response(broker: HeldOnSlowDisk) -> None:
    broker.laboratory.faults.on("CreateTopics").delay(seconds=1)
    ada = broker.client()
    create(ada)
    broker.wait(1)
    assert broker.cluster.topics.by_name("orders") is not None
    assert created(ada) == []
    broker.threads.finish()
    broker.loop.run_soon()
    assert created(ada) == [ErrorCode.none]


def test_delayed_response_follows_sync(broker: HeldOnSlowDisk) -> None:
    broker.laboratory.faults.on("CreateTopics").delay_response(seconds=1)
    ada = broker.client()
    create(ada)
    broker.wait(1)
    assert created(ada) == []
    broker.threads.finish()
    broker.wait(0.5)
    assert created(ada) == []
    broker.wait(0.5)
    assert created(ada) == [ErrorCode.none]


def test_failed_sync_is_returned_after_delay(broker: HeldOnSlowDisk) -> None:
    rule = broker.laboratory.faults.on("CreateTopics").hold()
    ada = broker.client()
    create(ada)
    broker.loop.run_soon()
    rule.remove()
    broker.wait(0)
    broker.threads.finish(OSError(5, "Input/output error"))
    broker.wait(0)
    assert created(ada) == [ErrorCode.kafka_storage_error]


def test_held_commit_is_synced_before_response(broker: HeldOnSlowDisk) -> None:
    broker.cluster.topics.create("orders", 1)
    broker.cluster.offsets_topic.create(0)
    rule = broker.laboratory.appends.of("commit").hold()
    ada = broker.client()
    topics = to_commit("orders", {0: 5}, None)
    ada.says(frame("offset_commit", 7, group_id="g", member_id="", topics=topics))
    rule.remove()
    broker.loop.run_soon()
    assert ada.heard() == []
    broker.threads.finish()
    ((_, response),) = ada.hears("offset_commit", 7)
    assert response.topics[0].partitions[0].error_code is ErrorCode.none
