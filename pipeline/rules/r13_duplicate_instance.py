"""R13: two processes share a group.instance.id: one takes it from the other once, or they keep replacing each other.

The record keeps the client id and host of the first process, so the log alone doesn't show both. Quick take-overs are
the sign; the coordinator's log lines about fenced requests are the proof.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, WARNING, Finding, busiest, listed, several, times

ID = "R13"
TAKE_OVERS = 3
WINDOW_MS = 10 * 60_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
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
