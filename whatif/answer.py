"""The answer to a what-if: calibration, figures under each variant, assumptions and timelines, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.whatif.deploy_order import reorder
from kohort.whatif.extract import compress, extract
from kohort.whatif.group_history import observed_figures
from kohort.whatif.played_settings import DEPLOY_ORDER, Settings, change
from kohort.whatif.playing import Played, play
from kohort.whatif.predict import SEEDS, Calibration, Prediction, summarize
from kohort.whatif.script import Script, Sourced

NOTICE = "seconds_to_notice_a_crash"
FIGURES = {
    "rebalances": "rebalances",
    "stalled_partition_seconds": "partition-seconds without progress",
    "group_stop_seconds": "whole group stopped, s",
    "records_read_again": "records read again",
    "seconds_to_stable": "time to stable, s",
}
ASSUMPTIONS = (
    "the same starts, stops, crashes, pauses and records; client timings of the model clients; ranges cover heartbeat "
    "phases and join order"
)
SHORT_MS = 600_000  # a longer script is played with fewer seeds
FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Variant:
    """Settings to play, by the changes that lead to them."""

    name: str
    settings: Settings
    changes: Mapping[str, str]
    script: Script  # what happens to the members, without quiet time


@dataclass(frozen=True)
class Answer:
    """What a group's history would have cost under other settings."""

    group: str
    script: Script
    settings: Settings
    calibration: Calibration
    predictions: Mapping[str, Prediction]  # by variant; the first one is that of the group's own settings
    variants: Sequence[Variant]
    additions: Sequence[str] = ()  # what would make the script more exact

    @property
    def sources(self) -> list[Sourced]:
        return self.script.sources

    def as_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "calibration": self.calibration.as_row() | {"failures": self.calibration.failures},
            "script": [source._asdict() for source in self.sources],
            "variants": [
                {
                    "name": variant.name,
                    "changes": dict(variant.changes),
                    "figures": self.predictions[variant.name].figures | {NOTICE: crash_notice_s(variant.settings)},
                    "ranges": self.predictions[variant.name].ranges,
                    "timeline": timeline(self.predictions[variant.name].example),
                }
                for variant in self.variants
            ],
        }


def timeline(played: Played) -> dict[str, Any]:
    """Return what a picture of a play needs: times of rebalances, stalls by partition, and changes of owners."""
    return {
        "rebalances_ms": played.rebalances,
        "stalls_ms": {str(partition): stalls for partition, stalls in sorted(played.stalls.items())},
        "owners": [[ms, name, list(partitions)] for ms, name, partitions in played.owners],
    }


def crash_notice_s(settings: Settings) -> float:
    """Return the usual time until the coordinator notices a crash: the session less half a heartbeat interval."""
    return round((settings.session_ms - settings.heartbeat_ms / 2) / 1000, 1)


def variant_name(changes: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in changes.items())


def ask(
    analysis: GroupAnalysis, variants: Iterable[Mapping[str, str]], own_settings: Mapping[str, str] | None = None
) -> Answer:
    """Predict what the history of a group would have cost under each variant.

    If the play under the group's own settings does not reproduce the history, no others are made.

    Args:
        variants: Changes of settings, such as {"session.timeout.ms": "10000"}.
        own_settings: The group's own settings, as far as the logs do not contain them.

    Raises:
        UnplayableError: The history does not contain what is needed.
        SettingError: A setting is invalid.
    """
    script, settings = extract(analysis)
    settings = change(settings, own_settings or {})
    short = compress(script)
    all_variants = [Variant("as it was", settings, {}, short)]
    for changes in variants:
        name = variant_name(changes)
        of_settings = {key: value for key, value in changes.items() if key != DEPLOY_ORDER}
        played = compress(reorder(script, changes[DEPLOY_ORDER])) if DEPLOY_ORDER in changes else short
        all_variants.append(Variant(name, change(settings, of_settings), changes, played))
    observed = observed_figures(analysis, script, settings)
    predictions = play_all(all_variants[:1])
    own = predictions[all_variants[0].name]
    calibration = Calibration(observed, own.by_commits, own.commit_ranges)
    if calibration.is_good:
        predictions |= play_all(all_variants[1:])
    else:
        all_variants = all_variants[:1]
    additions = _additions(analysis, own_settings or {})
    return Answer(analysis.group_id, short, settings, calibration, predictions, all_variants, additions)


def _additions(analysis: GroupAnalysis, own_settings: Mapping[str, str]) -> list[str]:
    """Return what to add to the sources if a play does not reproduce the history."""
    additions = []
    if not analysis.group.events:
        additions.append("the broker's log, which has the times of joins and leaves")
    if not analysis.group.ends:
        additions.append("samples of log ends, which show when records were appended")
    if not any("heartbeat.interval.ms" in name for name in own_settings):
        additions.append("--given heartbeat.interval.ms=…, if it is not the default")
    return additions


def play_all(variants: Sequence[Variant]) -> dict[str, Prediction]:
    """Play variants with several seeds each, in as many processes as there are cores."""
    if not variants:
        return {}
    seeds = SEEDS if variants[0].script.end_ms <= SHORT_MS else FEWEST_SEEDS
    works = [(variant, seed) for variant in variants for seed in range(seeds)]
    with ProcessPoolExecutor() as pool:
        plays = list(pool.map(_play, works, chunksize=max(1, len(works) // 16)))
    return {
        variant.name: summarize(plays[number * seeds : (number + 1) * seeds]) for number, variant in enumerate(variants)
    }


def _play(work: tuple[Variant, int]) -> Played:
    variant, seed = work
    return play(variant.script, variant.settings, seed)


def text_timeline(played: Played, partitions: int, begin_ms: int, end_ms: int, width: int = 64) -> list[str]:
    """Return lines with the stalls of each partition, and the rebalances, on one axis."""
    span = max(end_ms - begin_ms, 1)

    def column(ms: int) -> int:
        return min(max((ms - begin_ms) * width // span, 0), width - 1)

    marks = [" "] * width
    for ms in played.rebalances:
        marks[column(ms)] = "|"
    lines = ["rebalances   " + "".join(marks).rstrip()]
    stopped = [0] * width
    for begin, end in chain.from_iterable(played.stalls.values()):
        for place in range(column(begin), column(end) + 1):
            stopped[place] += 1
    scale = " .:-=+*#%@"
    lines.append(
        "standing     " + "".join(scale[min(-(-count * 9 // max(partitions, 1)), 9)] for count in stopped).rstrip()
    )
    return lines
