"""Waiting: a hierarchical timing wheel and delayed operations under keys. It gets the time, and never looks."""

from kohort.purgatory.delayed import DelayedOperation, Purgatory
from kohort.purgatory.wheel import TimerEntry, TimingWheel

__all__ = ["DelayedOperation", "Purgatory", "TimerEntry", "TimingWheel"]
