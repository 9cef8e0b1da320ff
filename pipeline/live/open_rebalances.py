"""Tracks open rebalances, polled about every second, and creates their alerts. Sends no requests itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kohort.pipeline.live.tracker import Alert
from kohort.pipeline.live.waited_for import KnownGroup, WaitedFor, holding_up, waited_for
from kohort.pipeline.rules.finding import CERTAIN, POSSIBLE
from kohort.pipeline.sources.seen_groups import RECONCILING, SeenGroup

# Members learn of a rebalance within a heartbeat, 3 s, and join at their next poll. Longer rebalances are reported.
OPEN_MS = 10_000
HELD_UP_MS = 15_000  # the same for a member of the consumer protocol, with heartbeats every 5 s
NAMELESS_MS = 30_000  # A new group waits for more members, by group.initial.rebalance.delay.ms: no member is late then.
NOT_LOOKED_MS = 10_000  # gap between two polls after which a rebalance may be another one
ASK_AGAIN_MS = 3_000
SAYS_MORE = 3  # maximum number of repeated alerts about a rebalance when more becomes known

# returns what is known of groups, given the start of their open rebalances
Ask = Callable[[Mapping[str, int]], Mapping[str, KnownGroup]]


@dataclass(slots=True)
class _Open:
    state: str
    node: str
    since_ms: int
    asked_ms: int = -1
    reported: str = ""
    times_told: int = 0
    waited: str = ""
    # (member, epoch) -> time since when it holds up the group (consumer protocol)
    behind: dict[tuple[str, int], int] = field(default_factory=dict)


class OpenRebalances:
    """Start of each open rebalance, and the alerts about it so far."""

    def __init__(self, ask: Ask, open_ms: int = OPEN_MS, held_up_ms: int = HELD_UP_MS) -> None:
        """Create a tracker.

        Args:
            open_ms: Minimum duration of a reported rebalance.
            held_up_ms: The same for the consumer protocol.
        """
        self._ask, self._open_ms, self._held_up_ms = ask, open_ms, held_up_ms
        self._open: dict[str, _Open] = {}
        self._ended_ms: dict[str, int] = {}  # by group: end of its last rebalance
        self._looked_ms = -1

    def look(self, now_ms: int, groups: Iterable[SeenGroup], silent: Iterable[str] = ()) -> list[Alert]:
        """Update from the groups that are in a rebalance and return new alerts.

        Args:
            silent: Brokers that didn't respond; nothing is known of their groups.
        """
        groups_by_id = {group.group_id: group for group in groups}
        gap, self._looked_ms = now_ms - self._looked_ms > NOT_LOOKED_MS, now_ms
        unseen = set(silent)
        alerts = [
            self._over(group_id, now_ms)
            for group_id, rebalance in list(self._open.items())
            if group_id not in groups_by_id and rebalance.node not in unseen
        ]
        for group_id, group in groups_by_id.items():
            rebalance = self._open.get(group_id)
            if rebalance is None or (gap and not rebalance.reported):
                rebalance = self._open[group_id] = _Open(group.state, group.node, now_ms)
            elif rebalance.state != group.state and not rebalance.reported:
                # All members have joined, or it started again.
                rebalance.since_ms = now_ms
            rebalance.state, rebalance.node = group.state, group.node
        alerts += self._held_up(now_ms, [group for group in groups_by_id.values() if group.state == RECONCILING])
        alerts += self._waiting(now_ms, [group for group in groups_by_id.values() if group.state != RECONCILING])
        return [alert for alert in alerts if alert is not None]

    @property
    def reported(self) -> int:
        return sum(bool(rebalance.reported) for rebalance in self._open.values())

    @property
    def states(self) -> dict[str, str]:
        """State of each group that is in a rebalance."""
        return {group_id: rebalance.state for group_id, rebalance in list(self._open.items())}

    def is_in_rebalance(self, group_id: str, since_ms: int) -> bool:
        """Return whether a rebalance of the group is open or ended after `since_ms`."""
        return group_id in self._open or self._ended_ms.get(group_id, -1) > since_ms

    def _over(self, group_id: str, now_ms: int) -> Alert | None:
        rebalance = self._open.pop(group_id)
        self._ended_ms[group_id] = now_ms
        if not rebalance.reported:
            return None
        text = f"rebalance ended after {_seconds(now_ms - rebalance.since_ms)}"
        text += f"; it waited for {rebalance.waited}" if rebalance.waited else ""
        return Alert(group_id, now_ms, "rebalance_over", "info", text)

    def _held_up(self, now_ms: int, groups: list[SeenGroup]) -> Iterable[Alert]:
        for group in groups:
            rebalance = self._open[group.group_id]
            held = holding_up(group)
            epochs = {member.member_id: member.epoch for member in group.members}
            rebalance.behind = {
                (name, epochs[name]): rebalance.behind.get((name, epochs[name]), now_ms) for name in held
            }
            late_ids = [
                name for (name, _), since_ms in rebalance.behind.items() if now_ms - since_ms >= self._held_up_ms
            ]
            if not late_ids:
                continue
            members = tuple(member for member in group.members if member.member_id in late_ids)
            reason = held[late_ids[0]] if len(late_ids) == 1 else ""
            yield from self._tell(group.group_id, rebalance, now_ms, WaitedFor(members, CERTAIN, reason))

    def _waiting(self, now_ms: int, groups: list[SeenGroup]) -> Iterable[Alert]:
        due = {
            group.group_id: self._open[group.group_id].since_ms
            for group in groups
            if now_ms - self._open[group.group_id].since_ms >= self._open_ms
            and now_ms - self._open[group.group_id].asked_ms >= ASK_AGAIN_MS
        }
        known_groups = self._ask(due) if due else {}
        for group in groups:
            if group.group_id not in due:
                continue
            rebalance, about = self._open[group.group_id], known_groups.get(group.group_id, KnownGroup())
            rebalance.asked_ms = now_ms
            began_ms = max(rebalance.since_ms, about.generation_ms)
            if began_ms > rebalance.since_ms:  # between two looks one ended and another began
                if (over := self._over(group.group_id, began_ms)) is not None:
                    yield over
                rebalance = self._open[group.group_id] = _Open(group.state, group.node, began_ms)
                if now_ms - began_ms < self._open_ms:
                    continue
            elif about.started_ms is not None and about.started_ms < rebalance.since_ms and not rebalance.reported:
                rebalance.since_ms = about.started_ms
            waited = waited_for(group, about, rebalance.since_ms)
            if waited.members or now_ms - rebalance.since_ms >= NAMELESS_MS:
                yield from self._tell(group.group_id, rebalance, now_ms, waited)

    def _tell(self, group_id: str, rebalance: _Open, now_ms: int, waited: WaitedFor) -> Iterable[Alert]:
        vague = waited.confidence == POSSIBLE
        names = "" if vague else ", ".join(sorted(str(member) for member in waited.members))
        if rebalance.reported and (vague or names == rebalance.waited or rebalance.times_told > SAYS_MORE):
            return
        rebalance.reported, rebalance.waited, rebalance.times_told = waited.text, names, rebalance.times_told + 1
        text = f"rebalance open {_seconds(now_ms - rebalance.since_ms)}, {waited.text}"
        yield Alert(group_id, now_ms, "rebalance_open", "warning", text)


def _seconds(length_ms: int) -> str:
    return f"{length_ms // 1000} s"
