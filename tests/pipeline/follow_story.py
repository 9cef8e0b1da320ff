"""Twenty minutes of the metrics of a follower, with everything that dashboard and alert rules look for.

The metrics come from the code that exports them; the clock is the story's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Lock

from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.group_figures import GroupFigures
from kohort.pipeline.live.group_log import DEPARTED, JOINED, GroupLog, LoggedGroup
from kohort.pipeline.live.group_metrics import GroupMetrics
from kohort.pipeline.live.sampled_ends import LogEnds
from kohort.pipeline.live.webhook import Message

BEGIN_MS, STEP_MS = 1_760_000_000_000, 15_000
STEPS = 20 * 60_000 // STEP_MS + 1
MINUTE = 60_000 // STEP_MS  # steps
# Minutes in which the states begin and end
OPEN_FROM, OPEN_UNTIL, DOWN_FROM = 2, 6, 13


class FollowStory:
    """`reports` has no members and falls behind, pods of `flaky` come and go, and `billing` has an open rebalance."""

    def __init__(self) -> None:
        self.log, self.ends = GroupLog(), LogEnds()
        self.now_ms = BEGIN_MS
        self.metrics = FollowMetrics(lambda: self.now_ms / 1000)
        self.states = dict[str, str]()
        of_groups = GroupMetrics(self.log, self.ends, lambda: self.states, lambda: self.now_ms, Lock())
        self.metrics.registry.register(of_groups)
        for name, members in (("billing", 2), ("flaky", 2), ("reports", 0)):
            group = self.log.groups[name] = LoggedGroup(committed={("orders", part): 0 for part in range(2)})
            group.tracked.members = {f"{name}-{n}": f"c-{n}" for n in range(members)}

    def samples(self) -> Iterator[tuple[int, str, float]]:
        """Yield the time, the series and the value of each sample."""
        for step in range(STEPS):
            self.now_ms = BEGIN_MS + step * STEP_MS
            self._move(step)
            for metric in self.metrics.registry.collect():
                for sample in metric.samples:
                    labels = ",".join(f"{name}={json.dumps(value)}" for name, value in sample.labels.items())
                    if not sample.name.endswith("_created"):
                        yield self.now_ms, f"{sample.name}{{{labels}}}", sample.value

    def _move(self, step: int) -> None:
        end = 10 * step
        self.ends.add(self.now_ms, {("orders", part): end for part in range(2)})
        for name in ("billing", "flaky"):
            self.log.groups[name].committed = {("orders", part): end for part in range(2)}
        is_open = OPEN_FROM * MINUTE <= step < OPEN_UNTIL * MINUTE
        self.states = {"billing": "PreparingRebalance"} if is_open else {}
        self.metrics.open_rebalances(int(is_open))
        self.metrics.stream("log", step < DOWN_FROM * MINUTE, step)
        if step == OPEN_FROM * MINUTE:
            self._alert("billing", "rebalance_open", "warning")
        if step % MINUTE == MINUTE // 2:
            pod = f"pod-{step // MINUTE}"
            self.log.groups["flaky"].rebalances.update([(JOINED, pod), (DEPARTED, pod)])
            if step // MINUTE == 5:
                self._alert("flaky", "storm", "warning")
        if step % (5 * MINUTE) == 0:
            self.metrics.report([("reports", "R29", "warning"), ("flaky", "R26", "info")], 1.5)
            figures = GroupFigures(stopped_s={("billing", "join_new"): 44.0})
            figures.rebalances["flaky", "join_new", "pod-0"] = 1
            self.metrics.groups(figures)

    def _alert(self, group: str, kind: str, severity: str) -> None:
        self.metrics.alert(Message(group, self.now_ms, kind, severity, ""))
