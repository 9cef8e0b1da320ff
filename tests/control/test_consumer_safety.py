"""Violations in consumer groups are detected, and behaviour that Kafka allows is not reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kohort.control.oracle.safety import Budget
from kohort.coordinator.consumer import reconciling
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_heartbeating import ConsumerHeartbeat
from kohort.coordinator.consumer.reconciling import reconcile
from kohort.protocol.errors import ErrorCode
from tests.control.talking import Lab, violations_of
from tests.talk.conversations import FILES

PLAYABLE = [
    name for name, each in FILES.items() if ("consumer" in name or "mixed" in name) and not each.has("restarts")
]
SHARED = """
    given topic $topic with 2 partitions
    given ada, bob share a consumer group {topics: [$topic]}
    """


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A broker whose groups compute targets at once, with a safety oracle."""
    made = Lab("consumer")
    made.laboratory.watch_safety(Budget())
    yield made
    made.stage.close()


@pytest.mark.parametrize("name", PLAYABLE)
def test_kafka_traffic_has_no_violation(name: str) -> None:
    assert violations_of(FILES[name]) == []


def test_partition_moved_after_revocation(lab: Lab) -> None:
    lab.talk(f"""
        {SHARED}
        ada OffsetCommit v9 {{epoch: 3, offsets: {{$topic: {{0: 5}}}}}}
          <- {{topics: [...]}}
        bob leaves the group
          <- NONE
        """)
    assert lab.violations() == []


@pytest.mark.plain("it replaces a function of a module that may be compiled")
@pytest.mark.parametrize("allowed", [False, True])
def test_partition_assigned_before_revocation(lab: Lab, monkeypatch: pytest.MonkeyPatch, allowed: bool) -> None:
    lab.laboratory.watch_safety(Budget(two_owners=allowed))
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a consumer group {topics: [$topic]}
        """)
    monkeypatch.setattr(reconciling, "reconcile", lambda *each, **more: reconcile(*each, **more | {"free_of": _all}))
    lab.talk("""
        bob beats {topics: [$topic]}
          <- NONE
        """)
    found = lab.violations()
    assert len(found) == (0 if allowed else 1)
    assert all("was assigned to" in match and "revoked it" in match for match in found)
    assert all("Budget(two_owners=True)" in violation for violation in found)


def _all(topic_id: UUID, partitions: list[int]) -> list[int]:
    return partitions


@pytest.mark.plain("it replaces a function of a module that may be compiled")
@pytest.mark.parametrize(("epoch", "message"), [(0, "without an epoch"), (99, "is at epoch 99, the group only at 2")])
def test_invalid_epoch(lab: Lab, monkeypatch: pytest.MonkeyPatch, epoch: int, message: str) -> None:
    respond = ConsumerHeartbeat.respond

    def wrong(*each: Any) -> Any:
        response = respond(*each)
        response.member_epoch = epoch
        return response

    monkeypatch.setattr(ConsumerHeartbeat, "respond", wrong)
    lab.talk("""
        given topic $topic with 2 partitions
        ada beats {topics: [$topic]}
          <- NONE
        """)
    (found,) = lab.violations()
    assert message in found


@pytest.mark.plain("it replaces a method of a class that may be compiled")
@pytest.mark.parametrize(
    ("who", "epoch", "message"),
    [
        ("ada", 4, "at epoch 4, when it was at 3"),
        ("ada", 1, "at epoch 1"),
        ("zoe", 3, "and is not a member"),
    ],
)
def test_commit_with_required_rejection(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, who: str, epoch: int, message: str
) -> None:
    monkeypatch.setattr(ConsumerGroup, "check_commit", lambda *_, **__: ErrorCode.none)
    lab.talk(f"""
        {SHARED}
        {who} OffsetCommit v9 {{epoch: {epoch}, offsets: {{$topic: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    (found,) = lab.violations()
    assert message in found


def test_commit_for_partition_of_other_member(lab: Lab) -> None:
    lab.talk(f"""
        {SHARED}
        bob OffsetCommit v9 {{epoch: 3, offsets: {{$topic: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    (found,) = lab.violations()
    assert "which belongs to" in found
    assert "Budget(others_partitions=True)" in found


def test_commit_without_assignment(lab: Lab) -> None:
    lab.laboratory.cluster.topics.create("t", 1)
    lab.talk("""
        given topic $topic with 1 partitions
        given ada, bob share a consumer group {topics: [$topic]}
        bob OffsetCommit v9 {epoch: 3, offsets: {t: {0: 5}}}
          <- {topics: [...]}
        """)
    (found,) = lab.violations()
    assert "although it owns nothing" in found


def test_unowned_partition_beyond_budget(lab: Lab) -> None:
    assert lab.laboratory.safety is not None
    lab.laboratory.safety.budget = Budget(unowned_ms=3_000)
    lab.clock.pause()
    lab.talk(f"""
        {SHARED}
        ada leaves the group
          <- NONE
        """)
    lab.laboratory.advance(4_000)
    lab.talk("bob beats\n  <- NONE {member_epoch: 4}")
    (told,) = lab.violations()
    assert told.startswith(f"group {lab.name('group')}: {lab.name('topic')}-")
    assert "had no owner for 4000 ms, longer than 3000 ms" in told
    assert told.endswith("(@pytest.mark.kafka(safety=Budget(unowned_ms=4000)) allows this)")


def test_unowned_partition_within_budget(lab: Lab) -> None:
    assert lab.laboratory.safety is not None
    lab.laboratory.safety.budget = Budget(unowned_ms=3_000)
    lab.clock.pause()
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a consumer group {topics: [$topic]}
        bob beats {topics: [$topic]}
          <- NONE
        ada beats
          <- NONE
        """)
    lab.laboratory.advance(10_000)
    lab.talk("ada beats {owns: $ada_share}\n  <- NONE")
    lab.laboratory.advance(2_000)
    lab.talk("bob beats\n  <- NONE")
    assert lab.violations() == []


def test_empty_group_may_leave_partitions_unowned(lab: Lab) -> None:
    assert lab.laboratory.safety is not None
    lab.laboratory.safety.budget = Budget(unowned_ms=3_000)
    lab.clock.pause()
    lab.talk(f"{SHARED}\nada leaves the group\n  <- NONE\nbob leaves the group\n  <- NONE")
    lab.laboratory.advance(60_000)
    assert lab.violations() == []
