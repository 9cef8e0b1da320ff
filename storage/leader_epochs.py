"""Which leader epoch each part of a log was written under (KIP-101, KIP-320).

A log's epochs are pairs of an epoch and the offset at which it began, in order; there is at least one.
Source: Kafka's `LeaderEpochFileCache`.
"""

from itertools import pairwise

from kohort.storage.store import Epochs

FIRST: Epochs = ((0, 0),)
"""The epochs of a log that nobody has written to."""


def begun(epochs: Epochs, leader_epoch: int, offset: int) -> Epochs:
    """A new epoch begins at `offset`. Those in which nothing was written go."""
    kept = tuple(entry for entry in epochs if entry[1] < offset)
    return (*kept, (leader_epoch, offset))


def from_offset(epochs: Epochs, offset: int) -> Epochs:
    """What is left when everything before `offset` is gone."""
    later = tuple(entry for entry in epochs if entry[1] > offset)
    return ((epoch_at(epochs, offset), offset), *later)


def epoch_at(epochs: Epochs, offset: int) -> int:
    """The epoch under which `offset` was or will be written."""
    return next((epoch for epoch, start in reversed(epochs) if start <= offset), epochs[0][0])


def end_offset_for(epochs: Epochs, leader_epoch: int, log_end_offset: int) -> tuple[int, int]:
    """The largest epoch that is not above `leader_epoch`, and the offset where it ended; (-1, -1): unknown.

    Source: Kafka's `LeaderEpochFileCache.endOffsetFor`.
    """
    if leader_epoch == -1 or leader_epoch > epochs[-1][0]:
        return -1, -1
    if leader_epoch == epochs[-1][0]:
        return leader_epoch, log_end_offset
    if leader_epoch < epochs[0][0]:
        return leader_epoch, epochs[0][1]
    for (epoch, _), (following, start) in pairwise(epochs):
        if epoch <= leader_epoch < following:
            return epoch, start
    raise AssertionError("one of the pairs holds every epoch between the first and the last")
