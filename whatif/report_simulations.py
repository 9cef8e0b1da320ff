"""Simulations for the report of an analysis: costs under other settings, and of a move to the consumer protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from kohort.pipeline.analysis.analysis_run import SimulatedGroup
from kohort.pipeline.analysis.engine import Workers
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.readiness import Readiness, can_move, readiness
from kohort.whatif.answer import Answer, answer_all, in_batches
from kohort.whatif.extract import UnplayableError
from kohort.whatif.html_report import answer_parts, refusal_part
from kohort.whatif.move import move_costs, move_question, unknown_cost
from kohort.whatif.played_settings import SettingError
from kohort.whatif.question import Question, read_question

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class PreparedGroup:
    """What to simulate for a group; a text is the reason why something cannot be simulated."""

    cluster: str
    group: str
    readiness: Readiness | None  # still without costs
    move: Question | str | None
    what_if: Question | str | None

    @property
    def questions(self) -> list[Question]:
        return [question for question in (self.move, self.what_if) if isinstance(question, Question)]

    @property
    def records(self) -> int:
        return sum(question.records for question in self.questions)


@dataclass(frozen=True, kw_only=True)
class ReportSimulations:
    """The requested simulations.

    changes: Of settings; if empty, suggested ones are tried. None if the costs of changes were not requested.
    """

    with_readiness: bool
    changes: Mapping[str, str] | None

    @property
    def with_what_if(self) -> bool:
        return self.changes is not None

    def prepare(self, analysis: GroupAnalysis) -> PreparedGroup:
        changes = self.changes
        return PreparedGroup(
            analysis.group.cluster,
            analysis.group_id,
            readiness(analysis) if self.with_readiness else None,
            _question(lambda: move_question(analysis)) if self.with_readiness and can_move(analysis) else None,
            None if changes is None else _question(lambda: read_question(analysis, [changes] if changes else None)),
        )

    def play(self, prepared: Iterable[PreparedGroup], workers: Workers) -> Iterator[SimulatedGroup]:
        for batch in in_batches(prepared):
            answers = answer_all([question for group in batch for question in group.questions], workers)
            for group in batch:
                costs = _result(group.move, answers, move_costs, lambda reason: [unknown_cost(reason)])
                if group.readiness is not None:
                    group.readiness.statements.extend(costs or ())
                section = _result(group.what_if, answers, answer_parts, refusal_part)
                yield SimulatedGroup(group.cluster, group.group, group.readiness, section)


def _result(
    question: Question | str | None,
    answers: Iterator[Answer],
    on_answer: Callable[[Answer], ResultT],
    on_refusal: Callable[[str], ResultT],
) -> ResultT | None:
    """Return the result for the next answer or for a refusal, or None if it was not requested."""
    if question is None:
        return None
    return on_refusal(question) if isinstance(question, str) else on_answer(next(answers))


def _question(read: Callable[[], Question]) -> Question | str:
    try:
        return read()
    except (UnplayableError, SettingError) as error:
        return str(error)
