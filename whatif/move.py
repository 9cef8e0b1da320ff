"""The cost of a move to the consumer protocol: the rollout itself, and the same events after it."""

from __future__ import annotations

from array import array
from dataclasses import replace

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.readiness import Statement, can_move
from kohort.whatif.answer import Variant, ask, play_all
from kohort.whatif.extract import UnplayableError, extract
from kohort.whatif.played_settings import SettingError, change
from kohort.whatif.predict import Prediction
from kohort.whatif.script import Event, Script

CONSUMER = {"group.protocol": "consumer"}
FIRST_MS = 25_000  # the group is stable by then
EVERY_MS, AWAY_MS = 18_000, 3_000  # of the assumed rolling restart
STAYS, MOVES = "stays", "moves"


def move_costs(analysis: GroupAnalysis) -> list[Statement]:
    """Return what the move and the time after it would cost, by simulation; nothing for a group that cannot move."""
    if not can_move(analysis):
        return []
    try:
        after = ask(analysis, [CONSUMER])
        if not after.calibration.is_good:
            failures = "; ".join(after.calibration.failures)
            return [_unknown(f"the play does not reproduce the history: {failures}")]
        script = rolling_restart(extract(analysis)[0], _members(analysis))
        settings = replace(after.settings, assignor_user_data=_has_user_data(analysis))
        moving = replace(settings, restarted_with=change(settings, CONSUMER))
    except (UnplayableError, SettingError) as error:
        return [_unknown(str(error))]
    plays = play_all([Variant(STAYS, settings, {}, script), Variant(MOVES, moving, CONSUMER, script)])
    own, other = (after.predictions[variant.name] for variant in after.variants)
    count = len(script.starts)
    working = plays[MOVES].figures["members_working_at_the_end"]
    lost = f"; at its end {working:g} of {count} members work" if working < count else ""
    return [
        Statement(
            "cost",
            "likely",
            f"the move: a rolling restart of {count} members, each away for {AWAY_MS // 1000} s, costs "
            f"{_costs(plays[MOVES])}; without the move {_costs(plays[STAYS])}{lost}",
        ),
        Statement(
            "cost",
            "likely",
            f"after the move: the events of this history would cost {_costs(other)}; as it was {_costs(own)}",
        ),
    ]


def _unknown(reason: str) -> Statement:
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
