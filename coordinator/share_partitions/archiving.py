"""End of records that have a dead letter: they are archiving until it is written, or cannot be, and then archived.

Source: KIP-1191; newer-release §4.
"""

from collections.abc import Generator, Sequence
from typing import Final

from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.dead_letters import (
    LIMIT_MESSAGE,
    REJECTED_MESSAGE,
    DeadLetters,
    letters_of,
)
from kohort.coordinator.share_partitions.record_states import ARCHIVED, ARCHIVING
from kohort.coordinator.share_partitions.share_partition import Progress, SharePartition
from kohort.coordinator.share_partitions.transitions import move_start, put_state, write_down
from kohort.coordinator.share_state.state_batches import StateBatches
from kohort.coordinator.share_state.state_outcome import StateOutcome
from kohort.purgatory import work_in_turns

_ALL: Final = 2**63 - 1


def archive(partition: SharePartition, letters: Sequence[DeadLetters], now_ms: int) -> None:
    """Complete records whose dead letters were written, or cannot be written."""

    def change(batches: StateBatches, now_ms: int) -> None:
        if batches:
            write_down(partition, batches, written, now_ms)

    def written(outcome: StateOutcome, now_ms: int) -> None:
        move_start(partition, now_ms)

    if partition.progress is Progress.ACTIVE:
        work_in_turns(partition.host.purgatory, _archiving(partition, letters), change, now_ms)


def _archiving(partition: SharePartition, letters: Sequence[DeadLetters]) -> Generator[None, None, StateBatches]:
    in_flight, pace = partition.in_flight, Pace()
    batches = StateBatches()
    for letter in letters:
        for part in in_flight.slices(letter.first_offset, letter.last_offset, cut=True):
            for index in part:
                if in_flight.states[index] == ARCHIVING and in_flight.holders[index] is None:
                    in_flight.change(index, ARCHIVED, in_flight.counts[index], None)
                    put_state(batches, in_flight, index)
            in_flight.join(part.start, part.stop)
            if pace.add(len(part)):
                yield
    return batches


def resume(partition: SharePartition, now_ms: int) -> None:
    """Send the dead letters of records that were archiving when the state was written. Some may be sent again."""
    in_flight, limit = partition.in_flight, partition.config.delivery_count_limit
    letters = [
        letters_of(in_flight, index, LIMIT_MESSAGE if in_flight.counts[index] >= limit else REJECTED_MESSAGE)
        for part in in_flight.slices(0, _ALL)
        for index in part
        if in_flight.states[index] == ARCHIVING
    ]
    if letters:
        partition.host.send_dead_letters(partition, letters, now_ms)
