"""Invariants of share groups, in addition to those of deliveries (`share_ledger.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.coordinator.share_partitions.in_flight import InFlight
from kohort.coordinator.share_partitions.record_states import IS_TERMINAL
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.coordinator.share_state.share_coordinator import ShareCoordinator
from kohort.coordinator.share_state.share_state_loading import ShareStateLoading
from kohort.protocol.batches import read_batches
from kohort.purgatory import Purgatory
from tests.simulation.sharing import COMMITTED, LIMITS, SHARE_GROUPS, Queues, Seen
from tests.simulation.transactional_reader import PARTITIONS

Range = tuple[int, int, int, int, bool]


def records_go_their_way(queues: Queues) -> None:
    """Check that counts of one leader grow by one, records stay processed, and the start never decreases."""
    for group in SHARE_GROUPS:
        for index in range(PARTITIONS):
            known, before = queues.led(group, index), queues.seen.get((group, index))
            if known is None:
                queues.seen.pop((group, index), None)
                continue
            now = Seen(known, known.in_flight.start, list(_ranges(known.in_flight)))
            queues.seen[group, index] = now
            _note_what_comes_often(queues, group, now)
            if before is not None and before.partition is known:
                assert now.start >= before.start, f"{group}-{index} begins at {now.start} after {before.start}"
                for old, new in _overlapping(before.ranges, now.ranges):
                    if new[1] >= now.start:
                        _follows(f"{group}-{index}", old, new)


def _ranges(in_flight: InFlight) -> Iterator[Range]:
    return zip(
        in_flight.firsts,
        in_flight.lasts,
        in_flight.states,
        in_flight.counts,
        [holder is not None for holder in in_flight.holders],
        strict=True,
    )


def _note_what_comes_often(queues: Queues, group: str, seen: Seen) -> None:
    """Record offsets that may be archived because of the lowest delivery limit."""
    key = group, (seen.partition.key.topic_id, seen.partition.key.partition)
    for first, last, _, count, _ in seen.ranges:
        if count >= min(LIMITS):
            queues.ledger.often.setdefault(key, set()).update(range(first, last + 1))


def _overlapping(old: list[Range], new: list[Range]) -> Iterator[tuple[Range, Range]]:
    """Yield pairs of ranges with common offsets; both are in order."""
    at = 0
    for each in new:
        while at < len(old) and old[at][1] < each[0]:
            at += 1
        there = at
        while there < len(old) and old[there][0] <= each[1]:
            yield old[there], each
            there += 1


def _follows(name: str, old: Range, new: Range) -> None:
    _, _, state, count, held = old
    assert count <= new[3] <= count + 1, f"{name}: {new} was delivered {count} times before"
    if IS_TERMINAL[state] and not held:
        assert new[2] == state, f"{name}: {new} was done with, {old}"
        assert new[3] == count, f"{name}: {new} was done with, {old}"


def nobody_is_given_what_is_not_committed(queues: Queues) -> None:
    """Check that read_committed groups get no uncommitted records."""
    given, queues.given = queues.given, []
    wanted = [each for each in given if each[0].group_id == COMMITTED]
    if not wanted:
        return
    undecided = {(index, offset) for work in queues.works() if not work.committed for index, offset, _ in work.records}
    for worker, index, offsets in wanted:
        for offset in offsets:
            assert (index, offset) not in undecided, f"{worker} is given {index}@{offset}, which is not committed"


def what_is_written_follows(queues: Queues) -> None:
    """Check that the share coordinator's state is in order and starts no later than its leader's."""
    for group in SHARE_GROUPS:
        for index in range(PARTITIONS):
            state, known = queues.state_of(group, index), queues.led(group, index)
            if state is None:
                continue
            behind = state.start_offset - 1
            for batch in state.batches:
                assert behind < batch.first_offset <= batch.last_offset, f"{group}-{index}: {state.batches}"
                behind = batch.last_offset
            if known is not None and known.progress is Progress.ACTIVE:
                assert state.start_offset <= known.in_flight.start, f"{group}-{index} is written to begin later"


PROMISES = (records_go_their_way, nobody_is_given_what_is_not_committed, what_is_written_follows)


def the_log_tells_the_same_states(queues: Queues) -> None:
    """Check, when nothing is being written, that a loaded state partition equals the coordinator's state."""
    topic = queues.cluster.topics.by_name("__share_group_state")
    if queues.state_writes.waiting or topic is None:
        return
    for node in queues.cluster.nodes:
        coordinator = node.coordinator_for("__share_group_state")
        assert isinstance(coordinator, ShareCoordinator)
        for index, states in coordinator.active_states():
            other = ShareCoordinator(Purgatory(), lambda topic_id, partition: True, partitions=coordinator.partitions)
            loading = ShareStateLoading(other, index)
            for data in topic.partitions[index].log.batches():
                for batch in read_batches(data):
                    for _ in loading.apply_batch(data, batch) or ():
                        pass
            loading.finish(0)
            told = other.shards[index].states
            assert told.keys() == states.keys()
            for key, state in states.items():
                now = told[key]
                assert (now.start_offset, now.batches) == (state.start_offset, state.batches), key
                assert (now.leader_epoch, now.state_epoch) == (state.leader_epoch, state.state_epoch), key


def nothing_was_lost_or_skipped(queues: Queues) -> None:
    """Check at the end that each record was accepted, rejected, or delivered up to the limit."""
    queues.reads_on()
    for group in SHARE_GROUPS:
        for partition in queues.topic.partitions:
            key = group, (queues.topic.topic_id, partition.index)
            wanted = queues.records[partition.index]
            if group == COMMITTED:
                wanted = {offset for offset, _ in queues.committed_records(partition.index)}
            lost = sorted(
                offset
                for offset in wanted
                if offset >= partition.log.log_start_offset and not queues.ledger.accounts_for(key, offset)
            )
            assert not lost, f"{group}-{partition.index}: {lost} were never done with"
