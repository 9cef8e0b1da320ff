"""The order in which a deployment restarts members: as in the history, all at once, or one after another."""

from __future__ import annotations

import itertools
from array import array
from dataclasses import replace
from statistics import median

from kohort.whatif.played_settings import DEPLOY_ORDER, SettingError
from kohort.whatif.script import Event, Script

AT_ONCE, ONE_BY_ONE = "at-once", "one-by-one"
ORDERS = (AT_ONCE, ONE_BY_ONE)
APART_MS = 120_000  # a restart that begins this much after the end of the last one belongs to another deployment
STABLE_MS = 20_000  # time that is reserved for the group to become stable after a restart


def restarts(script: Script) -> list[tuple[Event, Event]]:
    """Return the stop and start of each member that was closed and started again, in the order of the stops."""
    pairs: list[tuple[Event, Event]] = []
    stops: dict[str, Event] = {}
    for event in sorted(script.events):
        if event.action == "stop":
            stops[event.member] = event
        elif event.action == "start" and event.member in stops:
            pairs.append((stops.pop(event.member), event))
    return sorted(pairs)


def deployments(script: Script) -> list[list[tuple[Event, Event]]]:
    """Return the restarts of each deployment: of two or more members, shortly after each other."""
    ordered: list[list[tuple[Event, Event]]] = []
    for pair in restarts(script):
        last = ordered[-1] if ordered else []
        if last and pair[0].at_ms - max(start.at_ms for _, start in last) <= APART_MS:
            last.append(pair)
        else:
            ordered.append([pair])
    return [deployment for deployment in ordered if len({stop.member for stop, _ in deployment}) > 1]


def reorder(script: Script, order: str) -> Script:
    """Return the script with the restarts of each deployment in another order. Each member is away as long as before.

    Args:
        order: `at-once`, or `one-by-one`: the next member is restarted when the group is stable.

    Raises:
        SettingError: The order does not exist, or the history has no deployment.
    """
    if order not in ORDERS:
        raise SettingError(f"{DEPLOY_ORDER} must be one of {', '.join(ORDERS)}, got {order!r}")
    rollouts = deployments(script)
    if not rollouts:
        raise SettingError(f"{DEPLOY_ORDER} does not apply: no two members were restarted shortly after each other")
    replaced = {event for deployment in rollouts for pair in deployment for event in pair}
    events = [event for event in script.events if event not in replaced]
    added_ms = 0
    for deployment in rollouts:
        begin_ms, end_ms = deployment[0][0].at_ms, max(start.at_ms for _, start in deployment)
        new = [
            Event(
                begin_ms + added_ms + number,
                "restart",
                stop.member,
                max(start.at_ms - stop.at_ms, 1),
                waits=order == ONE_BY_ONE,
            )
            for number, (stop, start) in enumerate(deployment)
        ]
        needed_ms = sum(event.ms + STABLE_MS for event in new) if order == ONE_BY_ONE else 0
        longer_ms = max(needed_ms - (end_ms - begin_ms), 0)
        later_ms = end_ms + added_ms
        events = [
            event._replace(at_ms=event.at_ms + longer_ms) if event.at_ms > later_ms else event for event in events
        ] + new
        added_ms += longer_ms
    last_ms = script.end_ms + added_ms
    arrivals = {partition: _longer(times, last_ms) for partition, times in script.arrivals.items()}
    return replace(script, events=sorted(events), end_ms=last_ms, arrivals=arrivals)


def _longer(times: array[int], end_ms: int) -> array[int]:
    """Return the times of records, continued at their usual distance until `end_ms`."""
    longer = array("q", times)
    if len(times) > 1:
        recent = times[-20:]
        step_ms = max(round(median(b - a for a, b in itertools.pairwise(recent))), 1)
        longer.extend(range(times[-1] + step_ms, end_ms, step_ms))
    return longer
