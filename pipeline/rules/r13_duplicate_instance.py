"""R13: two processes share a group.instance.id: one takes it from the other, once or repeatedly, or cannot join.

The record keeps the client id and host of the first process, so the log alone doesn't show both. Quick take-overs are
the sign; the coordinator's log lines about fenced requests are the proof. In the consumer protocol, the second process
is rejected while the first one's session lasts (UNRELEASED_INSTANCE_ID, KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import LONGEST_SESSION_MS
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    LIKELY,
    WARNING,
    Finding,
    busiest,
    listed,
    seconds,
    several,
    times,
)

ID = "R13"
TAKE_OVERS = 3
WINDOW_MS = 10 * 60_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    yield from _rejected(analysis)
    takeovers: dict[str, list[int]] = {}
    clients: dict[str, set[str]] = {}
    for swap in analysis.timeline.swaps:
        takeovers.setdefault(swap.instance_id, []).append(swap.ts_ms)
        clients.setdefault(swap.instance_id, set()).update({swap.new.client_id, swap.old.client_id})
    if not analysis.timeline.swaps:
        for event in analysis.events.replaced:
            if event.instance_id:
                takeovers.setdefault(event.instance_id, []).append(event.ts)
    fenced: dict[str, list[int]] = {}
    for event in analysis.events.fenced:
        if event.instance_id:
            fenced.setdefault(event.instance_id, []).append(event.ts)
    for instance in sorted(takeovers.keys() | fenced.keys()):
        swaps, refused = takeovers.get(instance, []), fenced.get(instance, [])
        names = sorted(clients.get(instance, set()) - {""})
        if busiest(swaps, WINDOW_MS) < TAKE_OVERS and not (refused and swaps):
            continue
        moments, once = swaps + refused, len(swaps) == 1
        yield Finding(
            ID,
            "Two processes share an instance id",
            WARNING if once else CRITICAL,
            CERTAIN if refused else LIKELY,
            f"{instance} moved to another process {times(len(swaps))}"
            + (f" between {listed(names)}" if len(names) > 1 else "")
            + (f"; {several(len(refused), 'request')} of the previous process were fenced" if refused else "")
            + (": it was still running when the other one joined" if once else "")
            + ". Few rebalances are visible, but each take-over interrupts consumption",
            "Make group.instance.id unique for each process.",
            min(moments),
            max(moments),
            names or [instance],
            {"instance_id": instance, "take_overs": len(swaps), "fenced": len(refused), "clients": names},
        )


def _rejected(analysis: GroupAnalysis) -> Iterator[Finding]:
    """Find instance ids whose owner kept its session while others tried to join.

    A process that was killed owns its instance id until its session expires, so its successor is rejected for that long.
    """
    rejections: dict[tuple[str, str], list[int]] = {}
    for event in analysis.events.unreleased:
        owner = (event.detail or {}).get("old_member_id")
        if event.instance_id and owner:
            rejections.setdefault((event.instance_id, owner), []).append(event.ts)
    for (instance, owner), moments in sorted(rejections.items()):
        if moments[-1] - moments[0] <= LONGEST_SESSION_MS:
            continue
        yield Finding(
            ID,
            "Two processes share an instance id",
            WARNING,
            LIKELY,
            f"another process with the instance id {instance} was rejected {times(len(moments))} in "
            f"{seconds(moments[-1] - moments[0])}: member {owner}, which has the id, is alive",
            "Make group.instance.id unique for each process.",
            moments[0],
            moments[-1],
            [instance],
            {"instance_id": instance, "rejected": len(moments)},
        )
