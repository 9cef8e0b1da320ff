"""Share groups in tests: owners of records, delivery counts, remaining records."""

from __future__ import annotations

import asyncio

import pytest

from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.groups.groups_by_id import group_of
from kohort.control.groups.lab_group import Group
from kohort.control.groups.lab_share_group import ShareGroup
from tests.control.sharing_lab import SharingLab
from tests.control.talking import Lab

ADA_FETCHES = """
ada ShareFetch v2 {epoch: 0, from: {$topic: [0]}}
  <- NONE
"""
BOB_FETCHES = """
bob ShareFetch v2 {member_id: bob-member, epoch: 0, from: {$topic: [0]}}
  <- NONE
"""


@pytest.fixture
def shared_by_two() -> SharingLab:
    """Four records, of which ada has accepted one and holds two; bob holds one."""
    made = SharingLab()
    made.produce("a b c")
    made.talk(ADA_FETCHES)
    made.produce("d")
    made.talk(BOB_FETCHES)
    made.talk("""
        ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {0: {1: accept}}}}
          <- NONE
        """)
    return made


def test_members_and_their_assignments(shared: SharingLab) -> None:
    (ada,) = shared.queue.members
    assert (ada.client_id, ada.speaks, ada.epoch) == ("ada", "share", shared.queue.generation)
    assert (ada.partitions, ada.target, ada.topics) == ({shared.topic: (0,)}, {shared.topic: (0,)}, (shared.topic,))
    assert (shared.queue.type, shared.queue.state, shared.queue.protocol) == ("share", "Stable", "simple")
    assert shared.queue.member("ada") == ada
    assert ada.is_alive
    shared.talk("ada disconnects")
    assert not shared.queue.member("ada").is_alive


def test_unfetched_partition_is_not_loaded(shared: SharingLab) -> None:
    shared.produce("a")
    (partition,) = shared.queue.partitions
    assert (partition.progress, partition.is_ready, partition.fetched_by) == ("not loaded", True, ())
    assert (partition.start_offset, partition.lag, shared.queue.lag) == (None, None, {})
    shared.talk(ADA_FETCHES)
    (partition,) = shared.queue.partitions
    assert (partition.progress, partition.fetched_by) == ("active", ("ada-member",))
    assert (partition.start_offset, partition.next_offset, partition.acquired) == (0, 1, 1)


def test_ranges_with_their_holders_and_deadlines(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    lab.talk("wait 500 ms")
    found = [
        (flight.first_offset, flight.last_offset, flight.state, flight.holder, flight.ends_in_ms)
        for flight in lab.queue.in_flight(lab.topic, 0)
    ]
    assert found == [
        (0, 0, "acquired", "ada", 1_500),
        (1, 1, "acknowledged", "", None),
        (2, 2, "acquired", "ada", 1_500),
        (3, 3, "acquired", "bob-member", 1_500),
    ]
    assert lab.held == ["0-0 ada", "2-2 ada", "3-3 bob"]
    assert lab.queue.lag == {(lab.topic, 0): 3}
    assert str(lab.queue.held()[2]) == f"{lab.topic}-0 3: acquired by bob-member for 1.5 s, delivered once"
    lab.talk("wait 1500 ms")
    assert lab.held == []
    assert {flight.delivery_count for flight in lab.queue.in_flight()} == {1}


def test_how_often_a_record_was_delivered(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    counts = [lab.queue.delivery_count(lab.topic, 0, offset) for offset in range(5)]
    assert counts == [1, 1, 1, 1, 0]
    lab.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {0: release}}}}
          <- NONE
        bob ShareFetch v2 {member_id: bob-member, epoch: 1}
          <- NONE
        """)
    assert lab.queue.delivery_count(lab.topic, 0, 0) == 2


def test_persisted_state_without_leader_state(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    lab.talk("""
        ada disconnects
        bob disconnects
        """)
    (partition,) = lab.queue.partitions
    assert partition.progress == "not loaded"
    found = [(flight.first_offset, flight.last_offset, flight.state) for flight in lab.queue.in_flight()]
    assert found == [(0, 0, "available"), (1, 1, "acknowledged"), (2, 3, "available")]
    assert {flight.delivery_count for flight in lab.queue.in_flight()} == {1}
    assert (lab.queue.start_offset(lab.topic), lab.queue.lag) == (0, {(lab.topic, 0): 3})


def test_redelivery_works_like_expired_locks(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    assert lab.queue.redeliver(lab.topic, 0, first_offset=2) == 2
    assert lab.held == ["0-0 ada"]
    lab.talk("""
        bob ShareFetch v2 {member_id: bob-member, epoch: 1}
          <- NONE {responses: [{partitions: [{acquired_records: [{first_offset: 2, delivery_count: 2},
             {first_offset: 3, delivery_count: 2}]}]}]}
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {2: accept}}}}
          <- NONE {responses: [{partitions: [{error_code: INVALID_RECORD_STATE}]}]}
        """)
    assert lab.queue.redeliver(member="ada") == 1
    assert lab.held == ["2-2 bob", "3-3 bob"]
    assert lab.queue.redeliver(member="unknown") == 0


def test_waiting_fetch_gets_redelivered_records(shared: SharingLab) -> None:
    shared.produce("a b")
    shared.talk(ADA_FETCHES)
    shared.talk("""
        bob ShareFetch v2 {member_id: bob-member, epoch: 0, max_wait_ms: 5000, from: {$topic: [0]}}
          <- nothing for 100 ms
        """)
    shared.queue.redeliver()
    shared.talk("bob <- NONE {responses: [{partitions: [{acquired_records: [{delivery_count: 2}]}]}]}")


def test_delivery_limit_archives_redelivered_records(shared: SharingLab) -> None:
    shared.produce("a")
    for _ in range(3):
        shared.talk(ADA_FETCHES)
        shared.queue.redeliver()
    (partition,) = shared.queue.partitions
    assert (partition.start_offset, partition.lag) == (1, 0)


def test_group_has_its_own_settings(shared: SharingLab) -> None:
    shared.queue.configure({"share.delivery.count.limit": 2})
    shared.produce("a")
    for epoch in range(2):
        shared.talk(f"""
            ada ShareFetch v2 {{epoch: {epoch}{", from: {$topic: [0]}" if not epoch else ""}}}
              <- NONE
            """)
        shared.queue.redeliver()
    assert shared.queue.start_offset(shared.topic) == 1, "it began at the start, as before, and archived the record"
    with pytest.raises(ControlError, match=r"cannot configure group .*: .*share\.nope"):
        shared.queue.configure({"share.nope": True})


def test_wrong_group_type_is_rejected(shared: SharingLab) -> None:
    shared.talk("zoe joins {group_id: billing, member_id: zoe}")
    group_id, laboratory = shared.name("group"), shared.laboratory
    assert group_id in laboratory.group_ids()
    assert isinstance(group_of(laboratory, group_id), ShareGroup)
    as_another = Group(laboratory, group_id)
    with pytest.raises(ControlError, match=r"is a share group; use share_group\("):
        as_another.members  # noqa: B018
    assert str(as_another) == f"group {group_id}, which is a share group"


def test_classic_group_is_not_share_group(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    queue = ShareGroup(lab.laboratory, lab.name("group"))
    with pytest.raises(ControlError, match=r"is not a share group; use group\("):
        queue.in_flight()
    assert str(queue).endswith(", which is a classic group")


def test_unknown_group(lab: Lab) -> None:
    queue = ShareGroup(lab.laboratory, "queue")
    assert (queue.state, queue.type, queue.members, queue.partitions, queue.in_flight()) == ("Dead", "", (), [], [])
    assert queue.redeliver() == 0
    assert "does not exist" in str(queue.explain())
    lab.laboratory.topics.create("orders")
    with pytest.raises(NotFoundError, match="share group queue does not exist"):
        queue.start_offset("orders")
    with pytest.raises(NotFoundError, match="orders has partitions 0 to 0, not 7"):
        queue.start_offset("orders", 7)


def test_group_settles_when_all_have_assignments(shared: SharingLab) -> None:
    assert shared.queue.is_settled
    shared.laboratory.topics.create_partitions(shared.topic, 2)
    assert not shared.queue.is_settled, "the second partition has no owner"
    shared.talk("""
        ada share-beats
          <- NONE
        ada share-beats
          <- NONE
        """)
    assert shared.queue.is_settled
    assert shared.queue.member("ada").partitions == {shared.topic: (0, 1)}


def test_pending_write_is_not_settled(shared: SharingLab) -> None:
    shared.produce("a")
    shared.talk(ADA_FETCHES)
    with shared.laboratory.appends.of("share_state").hold():
        shared.talk("""
            ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {0: {0: accept}}}}
              <- nothing for 10 ms
            """)
        (held,) = shared.queue.in_flight()
        assert (held.state, held.holder, held.is_being_written) == ("acquired", "ada", True)
        assert shared.queue.lag == {(shared.topic, 0): 1}
        assert shared.queue.redeliver() == 0, "she holds it no more"
        (wait,) = shared.queue.explain().waits
        assert (wait.for_whom, wait.what) == (
            ("ada",),
            f"to complete its acknowledgement of {shared.topic}-0 0, which is being written",
        )
    shared.talk("ada <- NONE")
    assert shared.queue.lag == {(shared.topic, 0): 0}


def test_accepted_records_can_be_awaited(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    asyncio.run(lab.queue.wait_accepted(1, timeout=0.01))
    with pytest.raises(TimeoutError, match="has accepted 1 records; left: "):
        asyncio.run(lab.queue.wait_accepted(2, timeout=0.01))
    lab.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {0: accept}}}}
          <- NONE
        """)
    asyncio.run(lab.queue.wait_accepted(2, topic=lab.topic, timeout=0.01))
    asyncio.run(lab.queue.wait_accepted(topic=lab.topic, up_to=2, timeout=0.01))
    with pytest.raises(TimeoutError):
        asyncio.run(lab.queue.wait_accepted(topic=lab.topic, up_to=3, timeout=0.01))
    assert lab.queue.delivery_count(lab.topic, 0, 0) == 1, "as it was recorded: the group is done with it"


def test_rejected_record_is_never_accepted(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    lab.talk("""
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {0: accept, 2: reject}}}}
          <- NONE
        bob ShareAcknowledge v2 {member_id: bob-member, epoch: 1, acks: {$topic: {0: {3: accept}}}}
          <- NONE
        """)
    asyncio.run(lab.queue.wait_caught_up(timeout=0.01))
    with pytest.raises(TimeoutError, match=r"accepted 3 records; can no longer be accepted: .*-0 2 \(rejected\)"):
        asyncio.run(lab.queue.wait_accepted(timeout=0.01))


def test_wait_timeout_reports_unsettled_records(shared_by_two: SharingLab) -> None:
    lab = shared_by_two
    with pytest.raises(TimeoutError, match=r"has not caught up: .*3 held, lag 3; .* 0: acquired by ada"):
        asyncio.run(lab.queue.wait_caught_up(timeout=0.01))
    with pytest.raises(ControlError, match="up_to requires topic"):
        asyncio.run(lab.queue.wait_accepted(up_to=3))
