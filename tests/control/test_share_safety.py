"""The safety oracle for share groups: each violation is detected, and allowed behaviour is not reported."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

import pytest

from kohort.broker.cluster.group_events import Recorded
from kohort.control.oracle.share_safety import ShareSafety
from kohort.coordinator.events.group_event import GroupEvent
from kohort.storage.topic import Topic
from tests.support.batches import batch
from tests.support.broker import Broker


def _topic() -> Topic:
    """Return a topic of one partition."""
    topic = Broker().cluster.topics.create("t", 1, 1)
    assert isinstance(topic, Topic)
    topic.topic_id = uuid4()
    return topic


class Told:
    """A safety oracle that receives events, with its violations."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.topic = _topic()
        self.safety = ShareSafety(lambda name: self.topic, self.violations.append)

    def hear(
        self,
        kind: str,
        offsets: str = "",
        member: str | None = None,
        cause: str | None = None,
        *,
        node: int = 1,
        detail: Mapping[str, str] | None = None,
    ) -> None:
        first, _, last = offsets.partition("-")
        about = {"topic": "t", "partition": "0", **(detail or {})}
        if offsets:
            about |= {"first_offset": first, "last_offset": last or first, "delivery_count": "1"}
        event = GroupEvent(
            ts=0, mono_us=0, co_partition=-1, co_epoch=-1, group_id="g", group_type="share", kind=kind,
            member_id=member, cause=cause, detail=about,
        )  # fmt: skip
        self.safety.on_event(Recorded(node, "", 1, event))

    def reads_anew(self, start: int, node: int = 1) -> None:
        """Report that a leader has read the stored state."""
        self.hear("share_partition_loaded", node=node, detail={"start": str(start)})

    def moves_start(self, before: int, start: int, node: int = 1) -> None:
        """Report that the start of the share partition moved."""
        self.hear("share_start_moved", node=node, detail={"from": str(before), "to": str(start)})


STORIES: dict[str, tuple[list[tuple[str, str, str | None]], list[str]]] = {
    "two hold a record": (
        [("records_acquired", "0-9", "ada"), ("records_acquired", "7-12", "bob")],
        ["group g: t-0 7-9 was delivered to bob, and ada holds it"],
    ),
    "one is given what it holds": (
        [("records_acquired", "3", "ada"), ("records_acquired", "3", "ada")],
        ["group g: t-0 3 was delivered to ada, and ada holds it"],
    ),
    "accepted, and delivered again": (
        [("records_acquired", "0-9", "ada"), ("records_accepted", "2-4", "ada"), ("records_released", "0-1", "ada"),
         ("records_acquired", "1-3", "bob")],
        ["group g: t-0 2-3 was delivered to bob, and it was already finished"],
    ),
    "archived, and delivered again": (
        [("records_acquired", "0", "ada"), ("lock_expired", "0", "ada"), ("records_archived", "0", None),
         ("records_acquired", "0", "bob")],
        ["group g: t-0 0 was delivered to bob, and it was already finished"],
    ),
    "accepted by another member": (
        [("records_acquired", "0-3", "ada"), ("records_accepted", "2-3", "bob")],
        ["group g: t-0 2-3: records accepted of bob, and ada holds it"],
    ),
    "renewed when the lock has expired": (
        [("records_acquired", "0", "ada"), ("lock_expired", "0", "ada"), ("records_renewed", "0", "ada")],
        ["group g: t-0 0: records renewed of ada, and no member holds it"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
def test_violation_is_detected(story: str) -> None:
    told = Told()
    events, sentences = STORIES[story]
    for kind, offsets, member in events:
        told.hear(kind, offsets, member)
    assert told.violations == sentences


def test_skipped_or_early_records_are_violations() -> None:
    told = Told()
    told.hear("records_acquired", "0-9", "ada")
    told.hear("records_accepted", "0-3", "ada")
    told.hear("records_released", "5-9", "ada")
    told.moves_start(0, 6)
    assert told.violations == [
        "group g: t-0 4 was skipped: the start moved to 6, and ada holds it",
        "group g: t-0 5 was skipped: the start moved to 6, and no member holds it",
    ]
    told.violations.clear()
    told.hear("records_acquired", "3-5", "bob")
    assert told.violations == ["group g: t-0 3-5 was delivered to bob below the start"]


def test_first_batch_is_delivered_whole() -> None:
    told = Told()
    told.moves_start(0, 6)
    for member in ("ada", "bob"):
        told.hear("records_acquired", "3-7", member)
        told.hear("records_accepted", "3-5", member)
        told.hear("records_released", "6-7", member)
    assert told.violations == []


def test_deleted_records_may_be_skipped() -> None:
    told = Told()
    told.hear("records_acquired", "0-9", "ada")
    log = told.topic.partitions[0].log
    log.append(batch(*[b"x"] * 20), wall_ms=0)
    log.delete_before(8)
    told.moves_start(0, 8)
    told.hear("records_acquired", "5-7", "bob")
    assert told.violations == []
    told.moves_start(8, 9)
    assert told.violations == ["group g: t-0 8 was skipped: the start moved to 9, and ada holds it"]


def test_reset_group_receives_all_again() -> None:
    told = Told()
    told.hear("records_acquired", "0-9", "ada")
    told.hear("records_accepted", "0-9", "ada")
    told.moves_start(0, 10)
    told.safety.forget("g", "other")
    told.safety.forget("g", "t")
    told.hear("records_acquired", "0-9", "bob")
    told.topic = _topic()
    told.hear("records_acquired", "0-9", "cyd")
    told.hear("group_deleted")
    told.hear("records_acquired", "0-9", "dan")
    assert told.violations == []


def test_new_leader_may_know_unreported_state() -> None:
    told = Told()
    told.hear("records_acquired", "0-9", "ada")
    told.reads_anew(2, node=2)
    told.moves_start(2, 4, node=2)
    told.hear("records_acquired", "6-9", "bob", node=2)
    told.hear("records_accepted", "0-5", "ada")
    told.hear("records_released", "6-9", "ada")
    told.moves_start(0, 6)
    assert told.violations == []
    told.hear("records_acquired", "5-6", "ada", node=2)
    assert told.violations == [
        "group g: t-0 5 was delivered to ada, and it was already finished",
        "group g: t-0 6 was delivered to ada, and bob holds it",
    ]


def test_new_leader_keeps_written_state() -> None:
    told = Told()
    told.hear("records_acquired", "0-9", "ada")
    told.reads_anew(0, node=2)
    told.hear("records_acquired", "0-4", "bob", node=2)
    told.hear("records_acquired", "0-4", "ada")
    told.hear("records_accepted", "3-6", "ada")
    assert told.violations == ["group g: t-0 3-4: records accepted of ada, and bob holds it"]


def test_reloading_node_keeps_locks_of_others() -> None:
    told = Told()
    told.hear("records_acquired", "0-4", "ada")
    told.hear("records_released", "0-2", "ada", "state_forgotten")
    told.reads_anew(0)
    told.hear("records_acquired", "0-3", "bob")
    assert told.violations == ["group g: t-0 3 was delivered to bob, and ada holds it"]
    told.violations.clear()
    told.reads_anew(5)
    assert told.violations == [
        "group g: t-0 0-3 was skipped: the start moved to 5, and bob holds it",
        "group g: t-0 4 was skipped: the start moved to 5, and ada holds it",
    ]


def test_failed_write_may_have_succeeded() -> None:
    told = Told()
    told.hear("records_acquired", "0-5", "ada")
    told.hear("records_released", "0-5", "ada", "acknowledged")
    told.reads_anew(4)
    told.hear("records_acquired", "4", "bob")
    told.hear("records_accepted", "4", "bob")
    assert told.violations == []
    told.hear("records_acquired", "5", "bob")
    told.hear("records_released", "5", "bob")
    told.moves_start(4, 6)
    assert told.violations == ["group g: t-0 5 was skipped: the start moved to 6, and no member holds it"]


def test_reloaded_start_keeps_accepted_records() -> None:
    told = Told()
    told.hear("records_acquired", "0-5", "ada")
    told.hear("records_accepted", "0-2", "ada")
    told.hear("records_archived", "3-4", "ada", "delivery_limit")
    told.moves_start(0, 5)
    told.hear("records_released", "5", "ada", "state_forgotten")
    told.reads_anew(2)
    told.hear("records_acquired", "3-5", "bob")
    assert told.violations == []
    told.reads_anew(0)
    told.hear("records_acquired", "0-2", "cyd")
    assert told.violations == ["group g: t-0 0-2 was delivered to cyd, and it was already finished"]


def test_written_acceptance_survives_start_reset() -> None:
    told = Told()
    told.hear("records_acquired", "0-9", "ada")
    told.hear("records_rejected", "0", "ada")
    told.reads_anew(8, node=2)
    told.reads_anew(0, node=2)
    told.hear("records_acquired", "4-9", "bob", node=2)
    assert told.violations == ["group g: t-0 4-7 was delivered to bob, and it was already finished"]


@pytest.mark.parametrize("cause", ["delivery_limit", "below_start", "compacted", "aborted"])
def test_archived_records_may_stay_unwritten(cause: str) -> None:
    told = Told()
    told.hear("records_acquired", "0-2", "ada")
    told.hear("lock_expired", "0-1", "ada")
    told.hear("records_archived", "0-1", "ada", cause)
    told.hear("records_archived", "2", "ada", "gap")
    told.hear("records_acquired", "0", "bob")
    assert told.violations == ["group g: t-0 0 was delivered to bob, and it was already finished"]
    told.violations.clear()
    told.reads_anew(0, node=2)
    told.hear("records_acquired", "0-1", "bob", node=2)
    assert told.violations == []
    told.hear("records_acquired", "2", "bob", node=2)
    assert told.violations == ["group g: t-0 2 was delivered to bob, and it was already finished"]
