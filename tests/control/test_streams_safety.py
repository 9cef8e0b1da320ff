"""Violations in streams groups are detected, and behaviour that Kafka allows is not reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kohort.control.oracle.safety import Budget
from kohort.coordinator.streams import streams_heartbeating
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_owners import TaskOwners
from kohort.protocol.errors import ErrorCode
from tests.control.talking import Lab, violations_of
from tests.talk.conversations import FILES

PLAYABLE = [name for name, each in FILES.items() if "streams" in each.profile and not each.has("restarts")]
SHARED = """
    given topic $topic with 4 partitions
    given ada, bob share a streams group {topology: {0: {reads: [$topic]}}}
    """


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A broker whose groups compute targets at once, with a safety oracle."""
    made = Lab("streams")
    made.laboratory.watch_safety(Budget())
    yield made
    made.stage.close()


@pytest.mark.parametrize("name", PLAYABLE)
def test_kafka_traffic_has_no_violation(name: str) -> None:
    assert violations_of(FILES[name]) == []


def test_task_moved_after_revocation(lab: Lab) -> None:
    lab.talk(f"""
        {SHARED}
        ada OffsetCommit v9 {{epoch: 3, offsets: {{$topic: {{0: 5}}}}}}
          <- {{topics: [...]}}
        bob streams-beats {{epoch: -1}}
          <- NONE {{member_epoch: -1}}
        """)
    assert lab.violations() == []


def test_static_member_returns_under_another_id(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 4 partitions
        ada streams-beats {instance: i1, topology: {0: {reads: [$topic]}}}
          <- NONE {member_epoch: 2, active_tasks: {0: [0, 1, 2, 3]}}
        ada streams-beats {instance: i1, epoch: -2}
          <- NONE {member_epoch: -2}
        cleo streams-beats {instance: i1, process: ada-process}
          <- NONE {member_epoch: 2, active_tasks: {0: [0, 1, 2, 3]}}
        cleo OffsetCommit v9 {epoch: 2, offsets: {$topic: {0: 5}}}
          <- {topics: [...]}
        """)
    assert lab.violations() == []


def test_previous_epoch_commit_for_kept_task(lab: Lab) -> None:
    lab.talk(f"""
        {SHARED}
        ada OffsetCommit v9 {{epoch: 2, offsets: {{$topic: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    assert lab.violations() == []


@pytest.mark.parametrize("allowed", [False, True])
def test_task_assigned_before_revocation(lab: Lab, monkeypatch: pytest.MonkeyPatch, allowed: bool) -> None:
    lab.laboratory.watch_safety(Budget(two_owners=allowed))
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a streams group {topology: {0: {reads: [$topic]}}}
        """)
    monkeypatch.setattr(TaskOwners, "is_active", lambda self, subtopology_id, partition: False)
    lab.talk("""
        bob streams-beats
          <- NONE
        """)
    found = lab.violations()
    assert len(found) == (0 if allowed else 1)
    assert all(
        "active task 0_1 was assigned to" in match and match.split(" (")[0].endswith("revoked it") for match in found
    )
    assert all("Budget(two_owners=True)" in violation for violation in found)


@pytest.mark.parametrize(
    ("epoch", "message"), [(0, "active tasks without an epoch"), (99, "at epoch 99, the group only at")]
)
def test_invalid_epoch(lab: Lab, monkeypatch: pytest.MonkeyPatch, epoch: int, message: str) -> None:
    answer = streams_heartbeating.__dict__["answer"]

    def wrong(*each: Any, **more: Any) -> Any:
        response = answer(*each, **more)
        response.member_epoch = epoch
        return response

    monkeypatch.setattr(streams_heartbeating, "answer", wrong)
    lab.talk("""
        given topic $topic with 2 partitions
        ada streams-beats {topology: {0: {reads: [$topic]}}}
          <- NONE
        """)
    (found,) = lab.violations()
    assert message in found


@pytest.mark.parametrize(
    ("who", "epoch", "message"),
    [
        ("ada", 4, "at epoch 4, when it was at 3"),
        ("bob", 2, "at epoch 2, but was assigned at 3"),
        ("ada", 2, "at epoch 2, when it was at 3 and no longer owned it"),
        ("zoe", 3, "and is not a member"),
    ],
)
def test_commit_with_required_rejection(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, who: str, epoch: int, message: str
) -> None:
    monkeypatch.setattr(StreamsGroup, "check_commit", lambda *_, **__: ErrorCode.none)
    lab.talk(f"""
        {SHARED}
        {who} OffsetCommit v9 {{epoch: {epoch}, offsets: {{$topic: {{3: 5}}}}}}
          <- {{topics: [...]}}
        """)
    (found,) = lab.violations()
    assert message in found


def test_commit_for_task_of_other_member(lab: Lab) -> None:
    lab.talk(f"""
        {SHARED}
        bob OffsetCommit v9 {{epoch: 3, offsets: {{$topic: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    (found,) = lab.violations()
    assert "which belongs to" in found
    assert "Budget(others_partitions=True)" in found


def test_commit_without_task(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a streams group {topology: {0: {reads: [$topic]}}}
        bob streams-beats
          <- NONE
        ada streams-beats
          <- NONE
        ada streams-beats {owns: $ada_share}
          <- NONE
        bob OffsetCommit v9 {epoch: 3, offsets: {$topic: {1: 5}}}
          <- {topics: [...]}
        """)
    (found,) = lab.violations()
    assert "although it owns nothing" in found


def test_unread_topic_accepts_any_commit(lab: Lab) -> None:
    lab.laboratory.cluster.topics.create("t", 1)
    lab.talk(f"""
        {SHARED}
        bob OffsetCommit v9 {{epoch: 3, offsets: {{t: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    assert lab.violations() == []
