"""Dead letters of share groups in the laboratory: records, explanations, metrics, and topics that cannot take them."""

from __future__ import annotations

from functools import partial
from io import StringIO
from typing import Any

import httpx
import pytest

from kohort.broker.cluster.dead_letter_topics import ENABLED, send
from kohort.control.http.app import make_app
from kohort.control.http.metrics import Metrics
from kohort.coordinator.share_partitions.dead_letters import REJECTED_MESSAGE, DeadLetters
from kohort.coordinator.share_partitions.record_observer import UNOBSERVED
from kohort.storage.placement import NO_LEADER
from tests.control.sharing_lab import SharingLab

TOPIC = "dlq.orders"
COPIED = {"errors.deadletterqueue.topic.name": TOPIC, "errors.deadletterqueue.copy.record.enable": "true"}
REJECTS = """
ada ShareFetch v2 {epoch: 0, from: {$topic: [0]}}
  <- NONE
ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {0: {1: reject}}}}
  <- NONE
"""


def reject(lab: SharingLab, configs: dict[str, str] | None = None, partitions: int = 1) -> None:
    """Let ada reject offset 1 of three records. The dead-letter topic has these configs, or does not exist if None."""
    if configs is not None:
        lab.laboratory.topics.create(TOPIC, partitions, {ENABLED: "true"} | configs)
    lab.queue.configure(COPIED)
    lab.laboratory.topics.append(lab.topic, "a", "b", "c", key="k", headers={"trace": "7"})
    lab.talk(REJECTS)


def explain(lab: SharingLab) -> str:
    return lab.queue.explain_record(lab.topic, 0, 1).partition(": ")[2]


def test_dead_letter_names_record(shared: SharingLab) -> None:
    reject(shared, {})
    (letter,) = shared.queue.dead_letters
    assert (letter.topic, letter.partition, letter.offset) == (shared.topic, 0, 1)
    assert (letter.delivery_count, letter.message) == (1, "Offset rejected by client.")
    assert (letter.key, letter.value) == (b"k", b"b")
    assert (letter.record.topic, letter.record.partition, letter.record.offset) == (TOPIC, 0, 0)
    assert "trace" not in dict(letter.record.headers)
    assert str(letter) == f"{shared.topic}-0 1: Offset rejected by client, delivered once; in {TOPIC}-0 0"
    assert explain(shared) == f"rejected by ada, delivered once; its dead letter is in {TOPIC}-0"


def test_expired_record_has_dead_letter(shared: SharingLab) -> None:
    shared.queue.configure({"share.delivery.count.limit": 2})
    shared.laboratory.topics.create(TOPIC, configs={ENABLED: "true"})
    shared.queue.configure(COPIED)
    shared.produce("a")
    shared.talk("""
        ada ShareFetch v2 {epoch: 0, from: {$topic: [0]}}
          <- NONE
        wait 2000 ms
        ada ShareFetch v2 {epoch: 1}
          <- NONE
        wait 2000 ms
        """)
    (letter,) = shared.queue.dead_letters
    assert (letter.delivery_count, letter.message) == (2, "Offset delivery count exceeded the threshold.")
    assert shared.queue.explain_record(shared.topic, 0, 0) == (
        f"{shared.topic}-0 0: archived, delivered 2 times, the group's delivery limit (2); "
        f"its dead letter is in {TOPIC}-0"
    )


def test_other_records_are_no_dead_letters(shared: SharingLab) -> None:
    reject(shared, {})
    names = ("topic", "partition", "offset", "group", "delivery.count", "message")
    for headers in (
        {},
        {f"__dlq.errors.{name}": "x" for name in names},
        {f"__dlq.errors.{name}": shared.queue.id for name in names},
        {f"__dlq.errors.{name}": b"\xff" for name in names},
    ):
        shared.laboratory.topics.append(TOPIC, "v", headers=headers)
    assert [letter.offset for letter in shared.queue.dead_letters] == [1]


def test_group_without_dead_letter_topic(shared: SharingLab) -> None:
    shared.produce("a b c")
    shared.talk(REJECTS)
    assert shared.queue.dead_letters == []
    assert explain(shared) == "rejected by ada, delivered once"


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        (None, f"topic {TOPIC} does not exist"),
        ({ENABLED: "false"}, f"topic {TOPIC} does not have {ENABLED}=true"),
        ({"max.message.bytes": "100"}, f"{TOPIC}-0 rejects them: MESSAGE_TOO_LARGE"),
    ],
)
def test_dead_letter_that_cannot_be_written(
    shared: SharingLab, lines: StringIO, configs: dict[str, str] | None, reason: str
) -> None:
    reject(shared, configs)
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {2: reject}}}}
          <- NONE
        """)
    assert shared.queue.dead_letters == []
    assert explain(shared) == f"rejected by ada, delivered once; its dead letter was not written: {reason}"
    assert shared.queue.in_flight()[0].state == "acquired"
    assert {records.state for records in shared.queue.in_flight()[1:]} == {"archived"}
    warnings = [line for line in lines.getvalue().splitlines() if "dead letters" in line]
    assert len(warnings) == 1
    assert f"{shared.queue.id}: records are archived without dead letters: {reason}" in warnings[0]


def test_dead_letter_partition_without_leader(shared: SharingLab, lines: StringIO) -> None:
    shared.laboratory.topics.create(TOPIC, configs={ENABLED: "true"})
    topic = shared.laboratory.cluster.topics.by_name(TOPIC)
    assert topic is not None
    topic.partitions[0].leader = NO_LEADER
    reject(shared)
    assert explain(shared) == "rejected by ada, delivered once; its dead letter is being written"
    assert not [event for event in shared.queue.events if event.kind.startswith("dead_letter")]
    shared.talk("wait 30000 ms")
    assert shared.queue.dead_letters == []
    reason = f"{TOPIC}-0 has no leader in 5 attempts"
    assert explain(shared) == f"rejected by ada, delivered once; its dead letter was not written: {reason}"
    assert [records.state for records in shared.queue.in_flight()] == ["available", "archived", "available"]
    assert [record.value for record in shared.laboratory.topics.records(shared.topic)] == [b"a", b"b", b"c"]
    (warning,) = [line for line in lines.getvalue().splitlines() if "dead letters" in line]
    assert f"records are archived without dead letters: {reason}" in warning
    topic.partitions[0].leader = 1
    shared.talk("""
        ada ShareFetch v2 {epoch: 2}
          <- NONE
        ada ShareAcknowledge v2 {epoch: 3, acks: {$topic: {0: {2: reject}}}}
          <- NONE
        """)
    assert [letter.offset for letter in shared.queue.dead_letters] == [2]


def test_dead_letter_topic_removed_while_waiting(shared: SharingLab) -> None:
    shared.laboratory.topics.create(TOPIC, configs={ENABLED: "true"})
    topic = shared.laboratory.cluster.topics.by_name(TOPIC)
    assert topic is not None
    topic.partitions[0].leader = NO_LEADER
    reject(shared)
    shared.queue.configure({"errors.deadletterqueue.topic.name": ""})
    shared.talk("wait 2000 ms")
    reason = "the group has no dead-letter topic anymore"
    assert explain(shared) == f"rejected by ada, delivered once; its dead letter was not written: {reason}"


def test_created_topic_has_kafkas_configs(shared: SharingLab) -> None:
    # ShareGroupDLQStateManager.createTopicBuilder of Apache Kafka 4.4.0
    shared.laboratory.cluster.settings.errors_deadletterqueue_auto_create_topics_enable = True
    reject(shared)
    topic = shared.laboratory.cluster.topics.by_name(TOPIC)
    assert topic is not None
    assert topic.configs == {ENABLED: "true", "message.timestamp.type": "CreateTime"}


def test_deleted_source_creates_no_topic(shared: SharingLab) -> None:
    cluster = shared.laboratory.cluster
    cluster.settings.errors_deadletterqueue_auto_create_topics_enable = True
    shared.queue.configure(COPIED)
    topic = cluster.topics.by_name(shared.topic)
    assert topic is not None
    partition, _ = cluster.nodes[0].led_share_partitions.get(shared.queue.id, topic, topic.partitions[0], 0)
    shared.laboratory.topics.delete(shared.topic)
    letters = [DeadLetters(0, 0, 1, REJECTED_MESSAGE)]
    shared.stage.server.act(partial(send, cluster, cluster.nodes[0], partition, letters, UNOBSERVED))
    assert cluster.topics.by_name(TOPIC) is None


def test_compacted_topic_rejects_missing_key(shared: SharingLab) -> None:
    shared.laboratory.topics.create(TOPIC, configs={ENABLED: "true", "cleanup.policy": "compact"})
    shared.queue.configure(COPIED)
    shared.produce("a b c")
    shared.talk(REJECTS)
    assert shared.queue.dead_letters == []
    assert "Compacted topic cannot accept message without key" in explain(shared)


def test_failure_is_logged_again_after_success(shared: SharingLab, lines: StringIO) -> None:
    reject(shared)
    shared.laboratory.topics.create(TOPIC, configs={ENABLED: "true"})
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {2: reject}}}}
          <- NONE
        """)
    assert [letter.offset for letter in shared.queue.dead_letters] == [2]
    shared.laboratory.topics.delete(TOPIC)
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 3, acks: {$topic: {0: {0: reject}}}}
          <- NONE
        """)
    assert lines.getvalue().count("without dead letters") == 2


def test_fewer_partitions_than_source(shared: SharingLab) -> None:
    shared.laboratory.topics.create_partitions(shared.topic, 3)
    shared.talk("""
        wait 5000 ms
        ada ShareGroupHeartbeat v1 {member_id: $ada, member_epoch: $ada_epoch}
          <- NONE
        wait 1000 ms
        """)
    shared.laboratory.topics.create(TOPIC, 2, {ENABLED: "true"})
    shared.queue.configure(COPIED)
    shared.laboratory.topics.append(shared.topic, "a", partition=2)
    shared.talk("""
        ada ShareFetch v2 {epoch: 0, from: {$topic: [2]}}
          <- NONE
        ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {2: {0: reject}}}}
          <- NONE
        """)
    (letter,) = shared.queue.dead_letters
    assert (letter.partition, letter.record.partition) == (2, 0)


def test_events_and_metrics(shared: SharingLab) -> None:
    metrics = Metrics(shared.laboratory.cluster)
    reject(shared)
    shared.laboratory.topics.create(TOPIC, configs={ENABLED: "true"})
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {2: reject}}}}
          <- NONE
        """)
    events = [(event.kind, event.cause) for event in shared.queue.events if event.kind.startswith("dead_letter")]
    assert events == [("dead_letter_failed", "topic_missing"), ("dead_letter_written", "rejected")]
    text = metrics.text().decode()
    for kind in ("dead_letter_failed", "dead_letter_written"):
        assert f'kafka_server_share_records_total{{node="1",what="{kind}"}} 1.0' in text


async def test_dead_letters_over_http(shared: SharingLab) -> None:
    shared.queue.configure(COPIED)
    app = make_app(shared.stage.server, laboratory=shared.laboratory)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        assert await _shown_topic(http) == {"name": TOPIC, "records": None}
        reject(shared, {})
        (letter,) = (await http.get(f"/share-groups/{shared.queue.id}/dead-letters")).json()
        assert (letter["topic"], letter["offset"], letter["dead_letter_topic"]) == (shared.topic, 1, TOPIC)
        assert letter["record"]["value"]["text"] == "b"
        assert await _shown_topic(http) == {"name": TOPIC, "records": 1}
        assert (await http.get("/share-groups/unknown/dead-letters")).status_code == 404


async def _shown_topic(http: httpx.AsyncClient) -> Any:
    (group,) = (await http.get("/overview")).json()["groups"]
    return group["dead_letter_topic"]
