"""The answer to a what-if: calibration, figures under each variant, assumptions and timelines, as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeVar

from kohort.pipeline.analysis.engine import Workers
from kohort.pipeline.analysis.worker_processes import WorkerProcesses
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.whatif.played_settings import Settings
from kohort.whatif.playing import Played, play
from kohort.whatif.predict import Calibration, Prediction, summarize
from kohort.whatif.question import Question, Variant, read_question
from kohort.whatif.script import Script, Sourced

FIGURES = {
    "rebalances": "rebalances",
    "stalled_partition_seconds": "partition-seconds without progress",
    "group_stop_seconds": "whole group stopped, s",
    "records_read_again": "records read again",
    "seconds_to_stable": "time to stable, s",
}
COUNTS = ("rebalances", "records_read_again")  # figures that are whole numbers
NOTICE = "seconds_to_notice_a_crash"
_ASSUMPTIONS = (
    "the same starts, stops, crashes, pauses and records",
    "client timings of the model clients",
    "ranges cover heartbeat phases and join order",
)
_LONG_BATCHES = (
    "a long batch is slow for its member only; if one of its records is slow for every member, a max.poll.interval.ms "
    "below {longest_s:.0f} s, the length of the longest batch, costs more than predicted"
)
COSTS = ("stalled_partition_seconds", "group_stop_seconds", "records_read_again", "rebalances")
RECORDS_AT_ONCE = 10_000_000  # of the scripts in memory


class _Sized(Protocol):
    @property
    def records(self) -> int: ...


SizedT = TypeVar("SizedT", bound=_Sized)


@dataclass(frozen=True)
class Answer:
    """What a group's history would have cost under other settings."""

    question: Question
    calibration: Calibration
    predictions: Mapping[str, Prediction]  # by variant; the first one is that of the group's own settings

    @property
    def group(self) -> str:
        return self.question.group

    @property
    def script(self) -> Script:
        return self.question.own.script

    @property
    def settings(self) -> Settings:
        return self.question.own.settings

    @property
    def sources(self) -> list[Sourced]:
        return self.script.sources

    @property
    def variants(self) -> list[Variant]:
        """Variants with a prediction; only that of the group's own settings if it does not reproduce the history."""
        return [variant for variant in self.question.variants if variant.name in self.predictions]

    def assumptions(self) -> list[str]:
        """Return what the predictions assume, as clauses."""
        longest_ms = max((event.ms for event in self.script.events if event.action == "slow"), default=0)
        is_cut_short = any(variant.settings.max_poll_ms < longest_ms for variant in self.best_variants())
        return [*_ASSUMPTIONS, *([_LONG_BATCHES.format(longest_s=longest_ms / 1000)] if is_cut_short else ())]

    def best_variants(self) -> list[Variant]:
        """Return the requested variants, or the suggested ones that no other one beats in all costs and effort."""
        if not self.question.is_suggesting:
            return self.variants
        rows = [(variant, self._costs(variant)) for variant in self.variants]
        return [
            variant
            for variant, own in rows
            if not any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for _, other in rows)
        ]

    def _costs(self, variant: Variant) -> list[float]:
        figures = self.predictions[variant.name].figures
        return [*(figures[name] for name in COSTS), variant.settings.crash_notice_s, variant.effort]

    def as_json(self) -> dict[str, Any]:
        best = {variant.name for variant in self.best_variants()}
        return {
            "group": self.group,
            "calibration": self.calibration.as_row() | {"failures": self.calibration.failures},
            "script": [source._asdict() for source in self.sources],
            "assumptions": self.assumptions(),
            "variants": [
                {
                    "name": variant.name,
                    "changes": dict(variant.changes),
                    "figures": self.predictions[variant.name].figures | {NOTICE: variant.settings.crash_notice_s},
                    "ranges": self.predictions[variant.name].ranges,
                    "timeline": timeline(self.predictions[variant.name].example),
                    "effort": variant.effort,
                    "on_front": variant.name in best,
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


def ask(
    analysis: GroupAnalysis,
    variants: Iterable[Mapping[str, str]] | None,
    own_settings: Mapping[str, str] | None = None,
) -> Answer:
    """Predict what the history of a group would have cost under each variant.

    If the play under the group's own settings does not reproduce the history, no others are made.

    Args:
        variants: Changes of settings, such as {"session.timeout.ms": "10000"}. None for suggested changes.
        own_settings: The group's own settings, as far as the logs do not contain them.

    Raises:
        UnplayableError: The history does not contain what is needed.
        SettingError: A setting is invalid.
    """
    with WorkerProcesses() as workers:
        (answer,) = answer_all([read_question(analysis, variants, own_settings)], workers)
    return answer


def answer_all(questions: Iterable[Question], workers: Workers) -> Iterator[Answer]:
    """Yield the answers in the order of the questions.

    The plays of many groups are made at the same time: first those under their own settings, then those of the variants
    of each group whose history they reproduce.
    """
    for batch in in_batches(questions):
        own_predictions = play_all([question.own for question in batch], workers)
        calibrations = [
            Calibration(question.observed, own.by_commits, own.commit_ranges)
            for question, own in zip(batch, own_predictions, strict=True)
        ]
        changed = [
            question.variants[1:] if calibration.is_good else ()
            for question, calibration in zip(batch, calibrations, strict=True)
        ]
        predictions = iter(play_all(list(chain.from_iterable(changed)), workers))
        for question, calibration, own, variants in zip(batch, calibrations, own_predictions, changed, strict=True):
            of_variants = {variant.name: next(predictions) for variant in variants}
            yield Answer(question, calibration, {question.own.name: own} | of_variants)


def in_batches(scripts: Iterable[SizedT]) -> Iterator[list[SizedT]]:
    """Split scripts, or what contains them, so that those of a batch fit into memory together."""
    batch, records = list[SizedT](), 0
    for script in scripts:
        batch.append(script)
        records += script.records
        if records >= RECORDS_AT_ONCE:
            yield batch
            batch, records = [], 0
    if batch:
        yield batch


def play_all(variants: Sequence[Variant], workers: Workers) -> list[Prediction]:
    """Play each variant with several seeds."""
    plays = workers.map(_play, [(variant, seed) for variant in variants for seed in range(variant.seeds)])
    # Of a variant's plays, the prediction keeps one: the others are forgotten before those of the next one arrive.
    return [summarize([next(plays) for _ in range(variant.seeds)]) for variant in variants]


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
