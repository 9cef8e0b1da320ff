"""Checks at the end of the play."""

from __future__ import annotations

from typing import NamedTuple

from kohort.demo.acts import COOPERATIVE, EAGER, MOVING, Outcome
from kohort.demo.observations import GroupObservations, Observations


class Check(NamedTuple):
    """One promise, and whether it was kept."""

    holds: bool
    text: str


def judge(observations: Observations, outcomes: list[Outcome], problem: str) -> list[Check]:
    """Return all checks in reading order.

    Args:
        problem: The reason for which the play stopped early, or an empty text.
    """
    checks = [Check(False, problem)] if problem else []
    checks.append(_everything_consumed(observations))
    for group_id in (EAGER, COOPERATIVE, MOVING):
        checks += [
            _no_holes(group_id, observations.group(group_id)),
            _one_owner(group_id, observations.group(group_id)),
        ]
    checks += [Check(False, f"{outcome.title}: {outcome.problem}") for outcome in outcomes if outcome.problem]
    checks += [Check(False, text) for text in observations.wrong]
    return checks


def _everything_consumed(observations: Observations) -> Check:
    group, produced = observations.group(EAGER), sum(observations.produced)
    missing = sum(
        # when the play stops, unacknowledged records may have been read
        max(0, count - (len(times) - times.count(0)))
        for count, times in zip(observations.produced, group.times_read, strict=True)
    )
    if missing or not produced:
        return Check(False, f"{missing} of {produced:,} records were never consumed by {EAGER}")
    read_twice = group.read_again()
    return Check(True, f"all {produced:,} records were consumed by {EAGER}; {read_twice:,} were read more than once")


def _no_holes(group_id: str, group: GroupObservations) -> Check:
    skipped = sum(times.count(0) for times in group.times_read)
    text = f"{group_id} skipped {skipped:,} records" if skipped else f"{group_id} skipped no record"
    return Check(not skipped, text)


def _one_owner(group_id: str, group: GroupObservations) -> Check:
    """Check the assignments that the broker reports, and the readers that the clients report."""
    twice = [
        f"partition {number} in generation {generation}"
        for generation, owners in sorted(group.assignments.items())
        for number in range(len(group.times_read))
        if sum(number in partitions for partitions in owners.values()) > 1
    ]
    twice += [
        f"partition {number} in generation {generation} ({', '.join(sorted(names))} read it)"
        for (generation, number), names in sorted(group.readers.items())
        if len(names) > 1
    ]
    if twice:
        return Check(False, f"{group_id}: two owners at once of {'; '.join(twice)}")
    counted = "generations and epochs" if group_id == MOVING else "generations"
    return Check(True, f"{group_id}: no partition had two owners in any of {len(group.assignments)} {counted}")
