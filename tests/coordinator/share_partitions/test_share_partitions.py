"""Acquired records of a share group's members, their states, and the start of the share partition."""

import pytest

from kohort.coordinator.at_once import at_once
from kohort.coordinator.share_partitions.acknowledging import Acknowledgement
from kohort.coordinator.share_partitions.acquiring import LogBatch
from kohort.coordinator.share_partitions.record_states import MOVES, NAMES, STATE_AFTER
from kohort.coordinator.share_partitions.share_partition import InvalidState
from kohort.coordinator.share_state.state_batches import StateBatch
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share_partitions.share_world import World, is_badly_formed

OK = (E.none, None)


def test_acquired_records_are_exclusive() -> None:
    world = World()
    world.produces(4)
    assert world.fetches("ada") == [(0, 3, 1)]
    assert world.fetches("bob") == []
    world.produces(2)
    assert world.fetches("bob") == [(4, 5, 1)]
    assert world.states == "0-3 acquired 1 ada, 4-5 acquired 1 bob"


def test_start_advances_past_processed_records() -> None:
    world = World()
    world.produces(10)
    world.fetches()
    assert world.says("5-9 accept") == OK
    assert world.partition.in_flight.start == 0
    assert (world.written_start, world.written_complete) == (0, 5)
    assert world.says("0-4 reject") == OK
    assert (world.partition.in_flight.start, world.partition.in_flight.end, world.states) == (10, 10, "")
    assert world.partition.in_flight.complete == 0
    assert world.says("0-9 accept") == OK, "what is below the start is fine, whatever is said of it"


def test_one_type_per_offset() -> None:
    world = World()
    world.produces(5)
    world.fetches()
    assert world.says("0-4 accept release reject gap accept") == OK
    assert world.states == "1 available 1, 2-3 archived 1, 4 acknowledged 1"
    assert world.fetches("bob") == [(1, 1, 2)]
    assert world.says("1 accept", "bob") == OK
    assert world.partition.in_flight.start == 5


def test_delivery_limit_archives_record() -> None:
    world = World(delivery_count_limit=2)
    world.produces(1)
    for count in (1, 2):
        assert world.fetches() == [(0, 0, count)]
        assert world.says("0 release") == OK
    assert world.fetches() == []
    assert world.partition.in_flight.start == 1
    assert world.written == [StateBatch(0, 0, 4, 2)]


def test_lock_expires() -> None:
    world = World()
    world.produces(3)
    world.fetches()
    assert world.says("0 accept") == OK
    world.waits(999)
    assert world.fetches("bob") == []
    world.waits(1)
    assert world.woken
    assert world.states == "1-2 available 1"
    not_acquired = "The offset cannot be acknowledged. The offset is not acquired."
    assert world.says("1 accept") == (E.invalid_record_state, not_acquired)
    assert world.fetches("bob") == [(1, 2, 2)]


def test_acquired_together_expire_together() -> None:
    world = World()
    for _ in range(3):
        world.produces(1)
    assert world.fetches("ada", batches=1) == [(0, 0, 1)]
    assert world.fetches("bob", batches=1) == [(1, 1, 1)]
    assert world.fetches("ada", batches=1) == [(2, 2, 1)]
    assert world.says("0 accept", "ada") == OK
    world.waits(999)
    assert world.states == "1 acquired 1 bob, 2 acquired 1 ada"
    world.waits(1)
    assert world.states == "1 available 1, 2 available 1"


def test_reacquired_record_has_new_lock() -> None:
    world = World()
    for _ in range(2):
        world.produces(1)
    world.fetches("ada", batches=1)
    assert world.says("0 release", "ada") == OK
    assert world.fetches("ada", batches=1) == [(0, 0, 2)]
    assert world.fetches("ada", batches=1) == [(1, 1, 1)]
    world.waits(1_000)
    assert world.states == "0 available 2, 1 available 1"


def test_shortened_locks_expire_individually() -> None:
    world = World()
    world.produces(1)
    world.fetches("ada")
    world.settings = world.settings._replace(record_lock_duration_ms=300)
    world.produces(1)
    world.fetches("bob")
    world.waits(300)
    assert world.states == "0 acquired 1 ada, 1 available 1"
    world.waits(700)
    assert world.states == "0 available 1, 1 available 1"


def test_renewal_extends_lock_without_write() -> None:
    world = World()
    world.produces(2)
    world.fetches()
    world.waits(900)
    assert world.says("0 renew") == OK
    world.waits(100)
    assert world.states == "0 acquired 1 ada, 1 available 1"
    world.settings = world.settings._replace(renew_acknowledge_enable=False)
    assert world.says("0 renew")[0] is E.invalid_record_state  # type: ignore[index]
    world.waits(900)
    assert world.states == "0-1 available 1"


def test_ended_session_releases_records() -> None:
    world = World(delivery_count_limit=2)
    world.produces(4)
    world.fetches("ada", 2, exactly=True)
    world.fetches("bob")
    world.leaves("ada")
    assert world.states == "0-1 available 1, 2-3 acquired 1 bob"
    assert world.fetches("cid") == [(0, 1, 2)]
    world.leaves("cid")
    assert world.states == "2-3 acquired 1 bob", "it was delivered as often as allowed"


def test_pending_write_holds_records() -> None:
    world = World(writes_at_once=False)
    world.produces(4)
    world.fetches()
    assert world.says("0-1 release, 2 accept") is None
    assert world.states == "0-1 available 1 pending, 2 acknowledged 1 pending, 3 acquired 1 ada"
    assert world.fetches("bob") == []
    assert world.says("2 accept")[0] is E.invalid_record_state  # type: ignore[index]
    world.lets_write(E.kafka_storage_error)
    assert world.states == "0-3 acquired 1 ada"
    assert world.says("0-1 release, 2 accept") is None
    world.waits(1_000)
    assert world.states == "0-1 available 1 pending, 2 acknowledged 1 pending, 3 available 1"
    world.lets_write(E.coordinator_not_available)
    assert world.states == "0-3 available 1", "their time was up meanwhile"


@pytest.mark.parametrize(
    ("error", "expected", "fences"),
    [
        (E.not_coordinator, E.coordinator_not_available, 0),
        (E.fenced_state_epoch, E.not_leader_or_follower, 1),
        (E.group_id_not_found, E.group_id_not_found, 1),
        (E.invalid_request, E.unknown_server_error, 0),
    ],
)
def test_client_receives_write_error(error: E, expected: E, fences: int) -> None:
    world = World(writes_at_once=False)
    world.produces(1)
    world.fetches()
    world.says("0 accept")
    world.lets_write(error)
    assert world.heard[0][0] is expected
    assert world.fences == fences


def test_expired_lock_survives_failed_write() -> None:
    world = World(writes_at_once=False)
    world.produces(1)
    world.fetches()
    world.waits(1_000)
    world.lets_write(E.kafka_storage_error)
    assert world.fetches("bob") == [(0, 0, 2)]


def test_invalid_batch_rolls_back_others() -> None:
    world = World()
    world.produces(4)
    world.fetches()
    for said, error in [
        ("0-1 accept, 5-6 accept", E.invalid_request),
        ("0-1 accept, 3-4 accept", E.invalid_request),
        ("0-2 accept, 2-3 accept", E.invalid_record_state),
    ]:
        assert world.says(said)[0] is error  # type: ignore[index]
        assert world.states == "0-3 acquired 1 ada"
    assert world.says("0-3 accept", "bob") == (E.invalid_record_state, "Member is not the owner of offset")
    world.produces(1)
    world.fetches()
    assert world.says("4 accept", "bob") == (E.invalid_record_state, "Member is not the owner of batch record")
    assert world.written == []


def test_acknowledgement_without_acquisition() -> None:
    world = World()
    not_found = "Batch record not found. The request batch offsets are not found in the cache."
    assert world.says("0-2 accept") == (E.invalid_record_state, not_found)
    world.produces(3)
    world.fetches()
    assert world.says("7 accept")[0] is E.invalid_request  # type: ignore[index]
    assert world.says("0-7 accept")[0] is E.invalid_request  # type: ignore[index]


def test_whole_batches_or_exactly_as_many() -> None:
    world = World()
    world.produces(4)
    assert world.fetches(most=2) == [(0, 3, 1)]
    world.produces(4)
    assert world.fetches(most=3, exactly=True) == [(4, 6, 1)]
    assert world.states == "0-3 acquired 1 ada, 4-6 acquired 1 ada, 7 available 0"
    assert world.fetches(most=3, exactly=True) == [(7, 7, 1)]


def test_entries_are_cut_where_batches_begin() -> None:
    world = World()
    for _ in range(5):
        world.produces(3)
    assert world.fetches(batch_size=4) == [(0, 5, 1), (6, 11, 1), (12, 14, 1)]
    again = World()
    again.produces(2)
    again.produces(1)
    assert again.fetches(batch_size=0) == [(0, 1, 1), (2, 2, 1)]


def test_group_record_limit_applies() -> None:
    world = World(partition_max_record_locks=100)
    world.produces(100)
    world.produces(3)
    assert world.fetches() == [(0, 99, 1)]
    assert world.fetches() == []
    assert world.says("20 release, 30 accept") == OK
    assert world.fetches() == [(20, 20, 2)]
    assert world.fetches() == []
    assert world.says("0-1 accept") == OK
    assert world.fetches() == [(100, 102, 1)]


def test_redelivered_batches_shrink() -> None:
    world = World()
    world.produces(8)
    for count in (1, 2, 3):
        assert world.fetches() == [(0, 7, count)]
        world.says("0-7 release")
    assert [world.fetches(), world.fetches()] == [[(0, 3, 4)], [(4, 7, 4)]]
    world.says("0-3 release")
    assert [world.fetches(), world.fetches()] == [[(0, 0, 5)], [(1, 1, 5)]]
    world.says("0 release")
    assert world.fetches() == [(2, 2, 5)]


def test_records_of_aborted_transactions_are_archived() -> None:
    world = World()
    for size in (1, 2, 1):
        world.produces(size)
    assert world.fetches(aborted=(LogBatch(1, 2),)) == [(0, 0, 1), (3, 3, 1)]
    assert world.states == "0 acquired 1 ada, 1-2 archived 1, 3 acquired 1 ada"
    assert world.says("0 accept, 3 accept") == OK
    assert world.partition.in_flight.start == 4


def test_log_with_later_start() -> None:
    world = World()
    for _ in range(3):
        world.produces(2)
    assert world.fetches(most=1) == [(0, 1, 1)]
    world.deletes_before(3)
    assert world.fetches() == [], "the log is found to begin elsewhere"
    assert world.fetches() == [(2, 5, 1)]
    assert world.says("0-1 accept") == OK
    assert world.written_start == -1
    assert world.says("3-5 accept") == OK
    assert (world.written_start, world.written_complete) == (3, 3)


def test_compacted_records_are_archived() -> None:
    world = World()
    for _ in range(3):
        world.produces(2)
    world.fetches(batch_size=2)
    world.says("0-3 release, 5 accept")
    del world.log[:2]
    assert world.fetches() == []
    assert world.states == "0-1 archived 1, 2-3 archived 1, 4 acquired 1 ada, 5 acknowledged 1"


def test_new_leader_loads_written_state() -> None:
    world = World()
    world.produces(10)
    world.fetches()
    world.says("0 release, 3-4 accept, 6 reject, 8 release")
    world.begin()
    assert world.states == (
        "0 available 1, 1-2 available 0, 3-4 acknowledged 1, 5 available 0, 6 archived 1, 7 available 0, 8 available 1"
    )
    assert world.fetches() == [
        (0, 0, 2),
        (1, 2, 1),
        (5, 5, 1),
        (7, 7, 1),
        (8, 8, 2),
        (9, 9, 1),
    ]
    assert world.says("0-2 accept, 5 accept, 7-9 accept") == OK
    assert world.partition.in_flight.start == 10


@pytest.mark.parametrize("batch", [StateBatch(1, 2, 0, 1), StateBatch(7, 6, 0, 1)])
def test_contradictory_state_is_rejected(batch: StateBatch) -> None:
    world = World()
    with pytest.raises(InvalidState):
        at_once(world.partition.load(0, 5, [batch]))


def test_giant_range_is_cheap() -> None:
    world = World()
    at_once(world.partition.load(0, 0, [StateBatch(10**15, 10**15 + 5, 2, 1)]))
    assert len(world.partition.in_flight) == 2
    assert world.says(f"0-{10**18} accept")[0] is E.invalid_request  # type: ignore[index]
    assert world.partition.next_fetch_offset == 0


def test_terminal_states_are_left_by_nothing() -> None:
    assert set(MOVES) == set(NAMES)
    assert all(MOVES[state] or state in (2, 4) for state in NAMES)
    assert all(after in MOVES[1] for after in STATE_AFTER)


@pytest.mark.parametrize(
    ("batches", "bad"),
    [
        ([(3, 1, [1])], True),
        ([(0, 2, [1]), (2, 4, [1])], False),
        ([(0, 2, [1]), (1, 4, [1])], True),
        ([(0, 3, [])], True),
        ([(-1, 3, [1])], False),
        ([(-2, 3, [1])], True),
        ([(0, 3, [1, 1])], True),
        ([(0, 1, [1, 2])], False),
        ([(0, 0, [5])], True),
        ([(0, 0, [-1])], True),
        ([(0, 0, [4])], True),
    ],
)
def test_requests_rejected_before_record_check(batches: list[tuple[int, int, list[int]]], bad: bool) -> None:
    assert is_badly_formed([Acknowledgement(*batch) for batch in batches], 4, renews=False) is bad
    for highest in (3, 4):
        assert is_badly_formed([Acknowledgement(0, 0, [4])], highest, renews=True) is (highest < 4)
