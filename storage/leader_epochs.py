"""The leader epochs of a log (KIP-101, KIP-320).

A log's epochs are pairs of epoch and start offset, in order; there is at least one.
Source: Kafka's `LeaderEpochFileCache`.
"""

from itertools import pairwise

from kohort.storage.store import Epochs

FIRST: Epochs = ((0, 0),)  # epochs of an empty log


def begun(epochs: Epochs, leader_epoch: int, offset: int) -> Epochs:
    """Add an epoch that starts at `offset`, and remove epochs without records."""
    kept = tuple(entry for entry in epochs if entry[1] < offset)
    return (*kept, (leader_epoch, offset))


def from_offset(epochs: Epochs, offset: int) -> Epochs:
    """Return the epochs that remain when everything before `offset` is deleted."""
    later = tuple(entry for entry in epochs if entry[1] > offset)
    return ((epoch_at(epochs, offset), offset), *later)


def epoch_at(epochs: Epochs, offset: int) -> int:
    """Return the epoch in which `offset` was or will be written."""
    return next((epoch for epoch, start in reversed(epochs) if start <= offset), epochs[0][0])


def end_offset_for(epochs: Epochs, leader_epoch: int, log_end_offset: int) -> tuple[int, int]:
    """Return the largest epoch up to `leader_epoch` and its end offset, or (-1, -1) if it is unknown.

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
