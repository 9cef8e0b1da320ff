"""Delayed operations under keys, on a hierarchical timing wheel. The caller supplies the time."""

from kohort.purgatory.delayed import DelayedOperation, Purgatory
from kohort.purgatory.turns import work_in_turns
from kohort.purgatory.wheel import TimerEntry, TimingWheel

__all__ = ["DelayedOperation", "Purgatory", "TimerEntry", "TimingWheel", "work_in_turns"]
