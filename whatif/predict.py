"""Plays of a script under some settings over several seeds: figures with their ranges, and the calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from kohort.whatif.cost_figures import Figures
from kohort.whatif.played_settings import Settings
from kohort.whatif.playing import Played, play
from kohort.whatif.script import Script

SEEDS = 15
MODEL_ERROR = 0.1  # ranges are wider than the seeds by this share: clients and brokers differ from their models


class Prediction(NamedTuple):
    """Figures under some settings: the middle of several plays, and a range."""

    figures: dict[str, float]
    ranges: dict[str, tuple[float, float]]
    by_commits: dict[str, float]  # the same as commits show them, to compare with a history
    commit_ranges: dict[str, tuple[float, float]]
    example: Played  # the play whose stalls are in the middle


def predict(script: Script, settings: Settings, seeds: int = SEEDS) -> Prediction:
    plays = [play(script, settings, seed) for seed in range(seeds)]
    return summarize(plays)


def summarize(plays: Sequence[Played]) -> Prediction:
    figures: dict[str, float] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for name in Figures._fields:
        values = sorted(getattr(played.figures, name) for played in plays)
        middle = values[len(values) // 2] if name == "rebalances" else median(values)
        figures[name] = round(middle, 1)
        low, high = values[0], values[-1]
        if name not in ("rebalances", "members_working_at_the_end"):
            low, high = low * (1 - MODEL_ERROR), high * (1 + MODEL_ERROR)
        ranges[name] = round(low, 1), round(high, 1)
    ordered = sorted(plays, key=lambda played: played.figures.stalled_partition_seconds)
    by_commits: dict[str, float] = {}
    commit_ranges: dict[str, tuple[float, float]] = {}
    for name in plays[0].by_commits:
        values = sorted(played.by_commits[name] for played in plays)
        by_commits[name], commit_ranges[name] = values[len(values) // 2], (values[0], values[-1])
    return Prediction(figures, ranges, by_commits, commit_ranges, ordered[len(ordered) // 2])


class Calibration(NamedTuple):
    """How well a play under the group's own settings reproduces what was observed."""

    observed: Mapping[str, float]
    played: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]

    @property
    def is_good(self) -> bool:
        """Whether rebalances are exact and partition-seconds are within 10 % or 3 s."""
        return not self.failures

    @property
    def failures(self) -> list[str]:
        failures = []
        rebalances = self.observed["rebalances"]
        low, high = self.ranges["rebalances"]
        if not low <= rebalances <= high:
            failures.append(f"{rebalances:g} rebalances were observed, {low:g} to {high:g} played")
        stalled = self.observed["stalled_partition_seconds"]
        low, high = self.ranges["stalled_partition_seconds"]
        tolerance = max(3.0, 0.1 * stalled)
        if not low - tolerance <= stalled <= high + tolerance:
            failures.append(f"{stalled:.1f} partition-seconds were observed, {low:.1f} to {high:.1f} played")
        return failures

    def as_row(self) -> dict[str, Any]:
        return {"observed": dict(self.observed), "played": dict(self.played), "good": self.is_good}
