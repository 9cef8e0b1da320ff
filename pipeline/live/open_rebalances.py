"""Rebalances that are open now, as they are seen every second or so, and the alerts that follow. Asks nobody itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kohort.pipeline.live.tracker import Alert
from kohort.pipeline.live.waited_for import KnownGroup, WaitedFor, holding_up, waited_for
from kohort.pipeline.rules.finding import CERTAIN, POSSIBLE
from kohort.pipeline.sources.seen_groups import RECONCILING, SeenGroup

OPEN_MS = 10_000
"""Members hear of a rebalance within a heartbeat, 3 s, and join at their next poll. What lasts longer is told."""
HELD_UP_MS = 15_000
"""Likewise for a member of the consumer protocol: its heartbeats are 5 s apart."""
NAMELESS_MS = 30_000
"""A new group waits a while for more members, by group.initial.rebalance.delay.ms: nobody is late."""
NOT_LOOKED_MS = 10_000
"""After so long without a look a rebalance may be another one than before."""
ASK_AGAIN_MS = 3_000
SAYS_MORE = 3
"""How often a rebalance that is told may be told again because more is known."""

Ask = Callable[[Mapping[str, int]], Mapping[str, KnownGroup]]
"""What is known of groups; asked with the time since which each rebalance is open."""


@dataclass(slots=True)
class _Open:
    state: str
    node: str
    since_ms: int
    asked_ms: int = -1
    told: str = ""
    times_told: int = 0
    waited: str = ""
    behind: dict[tuple[str, int], int] = field(default_factory=dict)
    """Member and its epoch, and since when it holds the group up (consumer protocol)."""


class OpenRebalances:
    """Remembers since when each rebalance is open, and what was said of it."""

    def __init__(self, ask: Ask, open_ms: int = OPEN_MS, held_up_ms: int = HELD_UP_MS) -> None:
        """open_ms, held_up_ms: what lasts for less isn't told."""
        self._ask, self._open_ms, self._held_up_ms = ask, open_ms, held_up_ms
        self._open: dict[str, _Open] = {}
        self._looked_ms = -1

    def look(self, now_ms: int, groups: Iterable[SeenGroup], silent: Iterable[str] = ()) -> list[Alert]:
        """Takes in who is in a rebalance. silent: brokers that didn't answer; nothing is known of their groups."""
        seen = {group.group_id: group for group in groups}
        gap, self._looked_ms = now_ms - self._looked_ms > NOT_LOOKED_MS, now_ms
        unseen = set(silent)
        alerts = [
            self._over(group_id, now_ms)
            for group_id, each in list(self._open.items())
            if group_id not in seen and each.node not in unseen
        ]
        for group_id, group in seen.items():
            each = self._open.get(group_id)
            if each is None or (gap and not each.told):
                each = self._open[group_id] = _Open(group.state, group.node, now_ms)
            elif each.state != group.state and not each.told:  # all have joined, or it began anew
                each.since_ms = now_ms
            each.state, each.node = group.state, group.node
        alerts += self._held_up(now_ms, [group for group in seen.values() if group.state == RECONCILING])
        alerts += self._waiting(now_ms, [group for group in seen.values() if group.state != RECONCILING])
        return [alert for alert in alerts if alert is not None]

    @property
    def told(self) -> int:
        """How many rebalances are open that a person was told of."""
        return sum(bool(each.told) for each in self._open.values())

    def _over(self, group_id: str, now_ms: int) -> Alert | None:
        each = self._open.pop(group_id)
        if not each.told:
            return None
        text = f"rebalance over after {_seconds(now_ms - each.since_ms)}"
        text += f"; it waited for {each.waited}" if each.waited else ""
        return Alert(group_id, now_ms, "rebalance_over", "info", text)

    def _held_up(self, now_ms: int, groups: list[SeenGroup]) -> Iterable[Alert]:
        for group in groups:
            each = self._open[group.group_id]
            held = holding_up(group)
            epochs = {member.member_id: member.epoch for member in group.members}
            each.behind = {(name, epochs[name]): each.behind.get((name, epochs[name]), now_ms) for name in held}
            late = [name for (name, _), since_ms in each.behind.items() if now_ms - since_ms >= self._held_up_ms]
            if not late:
                continue
            members = tuple(member for member in group.members if member.member_id in late)
            why = held[late[0]] if len(late) == 1 else ""
            yield from self._tell(group.group_id, each, now_ms, WaitedFor(members, CERTAIN, why))

    def _waiting(self, now_ms: int, groups: list[SeenGroup]) -> Iterable[Alert]:
        due = {
            group.group_id: self._open[group.group_id].since_ms
            for group in groups
            if now_ms - self._open[group.group_id].since_ms >= self._open_ms
            and now_ms - self._open[group.group_id].asked_ms >= ASK_AGAIN_MS
        }
        known = self._ask(due) if due else {}
        for group in groups:
            if group.group_id not in due:
                continue
            each, about = self._open[group.group_id], known.get(group.group_id, KnownGroup())
            each.asked_ms = now_ms
            began_ms = max(each.since_ms, about.generation_ms)
            if began_ms > each.since_ms:  # between two looks one ended and another began
                if (over := self._over(group.group_id, began_ms)) is not None:
                    yield over
                each = self._open[group.group_id] = _Open(group.state, group.node, began_ms)
                if now_ms - began_ms < self._open_ms:
                    continue
            elif about.started_ms is not None and about.started_ms < each.since_ms and not each.told:
                each.since_ms = about.started_ms
            found = waited_for(group, about, each.since_ms)
            if found.members or now_ms - each.since_ms >= NAMELESS_MS:
                yield from self._tell(group.group_id, each, now_ms, found)

    def _tell(self, group_id: str, each: _Open, now_ms: int, found: WaitedFor) -> Iterable[Alert]:
        """Once, and again where more is known."""
        vague = found.confidence == POSSIBLE
        names = "" if vague else ", ".join(sorted(str(member) for member in found.members))
        if each.told and (vague or names == each.waited or each.times_told > SAYS_MORE):
            return
        each.told, each.waited, each.times_told = found.text, names, each.times_told + 1
        text = f"rebalance open {_seconds(now_ms - each.since_ms)}, {found.text}"
        yield Alert(group_id, now_ms, "rebalance_open", "warning", text)


def _seconds(length_ms: int) -> str:
    return f"{length_ms // 1000} s"
