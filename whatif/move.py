"""The cost of a move to the consumer protocol: the rollout itself, and the same events after it."""

from __future__ import annotations

from array import array
from dataclasses import replace

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.readiness import Statement
from kohort.whatif.answer import Answer
from kohort.whatif.played_settings import change
from kohort.whatif.predict import Prediction
from kohort.whatif.question import Question, Variant, read_question
from kohort.whatif.script import Event, Script

CONSUMER = {"group.protocol": "consumer"}
FIRST_MS = 25_000  # the group is stable by then
EVERY_MS, AWAY_MS = 18_000, 3_000  # of the assumed rolling restart
STAYS, MOVES = "stays", "moves"


def move_question(analysis: GroupAnalysis) -> Question:
    """Return the question what the move and the time after it would cost.

    Raises:
        UnplayableError: The history does not contain what is needed.
        SettingError: The client library does not have the consumer protocol.
    """
    question = read_question(analysis, [CONSUMER])
    script = rolling_restart(question.own.script, _members(analysis))
    settings = replace(question.own.settings, assignor_user_data=_has_user_data(analysis))
    moving = replace(settings, restarted_with=change(settings, CONSUMER))
    restarts = Variant(STAYS, settings, {}, script), Variant(MOVES, moving, CONSUMER, script)
    return replace(question, variants=[*question.variants, *restarts])


def move_costs(answer: Answer) -> list[Statement]:
    """Return what the move and the time after it would cost, or why it is not known."""
    if not answer.calibration.is_good:
        failures = "; ".join(answer.calibration.failures)
        return [unknown_cost(f"the play does not reproduce the history: {failures}")]
    own, after, stays, moves = (answer.predictions[variant.name] for variant in answer.variants)
    count = len(answer.variants[-1].script.starts)
    working = moves.figures["members_working_at_the_end"]
    lost = f"; at its end {working:g} of {count} members work" if working < count else ""
    return [
        Statement(
            "cost",
            "likely",
            f"the move: a rolling restart of {count} members, each away for {AWAY_MS // 1000} s, costs "
            f"{_costs(moves)}; without the move {_costs(stays)}{lost}",
        ),
        Statement(
            "cost",
            "likely",
            f"after the move: the events of this history would cost {_costs(after)}; as it was {_costs(own)}",
        ),
    ]


def unknown_cost(reason: str) -> Statement:
    return Statement("cost", "unknown", f"the cost cannot be simulated: {reason}")


def _costs(prediction: Prediction) -> str:
    low, high = prediction.ranges["stalled_partition_seconds"]
    figures = prediction.figures
    return (
        f"{figures['rebalances']:g} rebalances, {figures['stalled_partition_seconds']:.0f} partition-seconds without "
        f"progress ({low:.0f} to {high:.0f}) and {figures['group_stop_seconds']:.0f} s in which all stand still"
    )


def _members(analysis: GroupAnalysis) -> int:
    return next(len(generation.members) for generation in reversed(analysis.generations) if generation.members)


def _has_user_data(analysis: GroupAnalysis) -> bool:
    return any(member.assignment_user_data_bytes for member in analysis.group.members)


def rolling_restart(script: Script, members: int) -> Script:
    """Return a rolling restart of a group with the partitions of a script and their mean rates of arrival."""
    end_ms = FIRST_MS + EVERY_MS * members + EVERY_MS
    events: list[Event] = []
    for number in range(members):
        at_ms = FIRST_MS + EVERY_MS * number
        events += [Event(at_ms, "stop", f"m{number + 1}"), Event(at_ms + AWAY_MS, "start", f"m{number + 1}")]
    arrivals: dict[int, array[int]] = {}
    for partition, times in script.arrivals.items():
        interval_ms = max(script.end_ms // len(times), 1) if times else end_ms
        arrivals[partition] = array("q", range(interval_ms // 2, end_ms, interval_ms))
    return Script(
        topic=script.topic,
        partitions=len(script.arrivals),
        arrivals=arrivals,
        end_ms=end_ms,
        events=events,
        starts={f"m{number + 1}": 20 * number for number in range(members)},
    )
