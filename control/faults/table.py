"""All rules of a cluster, and the sentences that make them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from random import Random
from typing import Any, Unpack

from kohort.control.control_errors import NotFoundError
from kohort.control.exchange import ON, Exchange
from kohort.control.faults.actions import ACCESS, Action, Deny, HideNode, Hold
from kohort.control.faults.matching import ANY, Match, MatchOptions
from kohort.control.faults.rule_builder import RuleBuilder
from kohort.control.faults.rule_index import RuleIndex
from kohort.control.faults.rules import Rule
from kohort.control.faults.triggers import Trigger
from kohort.control.gate_points import REQUEST
from kohort.control.request_facts import RequestFacts
from kohort.control.waiting import Waiters
from kohort.protocol.visible import visible
from kohort.security.rights import Right
from kohort.storage.topic import Topic

MOST_IDLE = 100


class Faults:
    """The rules, in the order in which they were made: the first that spoils a request is the last that sees it."""

    def __init__(
        self, chance: Random, topics: Iterable[Topic], nodes: Collection[int], waiters: Waiters | None = None
    ) -> None:
        """`waiters`: those who are woken when a rule has acted."""
        self.waiters = Waiters() if waiters is None else waiters
        self._chance = chance
        self._topics = topics
        self._nodes = nodes
        self._rules = RuleIndex()
        self._made = 0
        self._idle: list[str] = []
        self.asks_for_rights: Callable[[], None] = _nothing_to_do
        """Lets the brokers ask for rights, where they do not yet."""

    def on(self, api: str = ANY, **conditions: Unpack[MatchOptions]) -> RuleBuilder:
        """Requests of one API, or of any, that meet all conditions; see `Match` for those.

        Say next what happens to them: `faults.on("Heartbeat", group="billing").drop(times=2)`. Raises ControlError for
        an API, condition or state that does not exist, naming the nearest that does.
        """
        return RuleBuilder(Match.of({"api": api, **conditions}), self.add, self._topics)

    def freeze(
        self, *, group: str, member: str | None = None, instance: str | None = None, client_id: str | None = None
    ) -> Rule:
        """A member falls silent without leaving, as a process that hangs: what it says of the group does not arrive.

        It does when the rule is removed, too late perhaps: so zombies are made.
        """
        return self.add(
            Match.of(_given(group=group, member=member, instance=instance, client_id=client_id)), Hold(), Trigger()
        )

    def cut_off(self, client_id: str, node: int) -> Rule:
        """A client and a node no longer reach each other, on new connections neither, until the rule is removed."""
        return self.add(Match.of({"client_id": client_id, "node": node}), Hold(), Trigger())

    def hide_node(self, node: int) -> Rule:
        """Metadata leaves a node out from now on: what it leads seems to have no leader. It goes on serving."""
        return self.on("Metadata").hide_node(node)

    def stale_metadata(self) -> Rule:
        """From now on Metadata names who leads at this moment, whatever moves later."""
        return self.on("Metadata").stale_metadata()

    def as_kafka(self, release: str, *, client_id: str = ANY) -> Rule:
        """Clients that connect from now on are offered the API versions of an older release of Kafka, as in "2.8"."""
        return self.on("ApiVersions", client_id=client_id).as_kafka(release)

    def zombie(self, *, group: str, node: int | None = None) -> Rule:
        """A node that loses a group's partition goes on answering for all groups of it: see `RuleBuilder.zombie`."""
        return (self.on(group=group) if node is None else self.on(group=group, node=node)).zombie()

    def add(self, match: Match, action: Action, trigger: Trigger) -> Rule:
        """A rule in its parts. Raises NotFoundError for a node that is not there."""
        for node in (match.node, action.node if isinstance(action, HideNode) else None):
            if node is not None and node not in self._nodes:
                raise NotFoundError(f"there is no node {node!r}; there are {', '.join(map(str, self._nodes))}")
        if isinstance(action, Deny):
            self.asks_for_rights()
        self._made += 1
        rule = Rule(self._made, match, action, trigger, self._chance, self._forget, self.waiters)
        self._rules.add(rule)
        return rule

    def remove(self, number: int) -> None:
        """Ends a rule. Raises NotFoundError."""
        self._forget(self.get(number))

    def get(self, number: int) -> Rule:
        """The rule of that number. Raises NotFoundError."""
        rule = self._rules.get(number)
        if rule is None:
            raise NotFoundError(f"there is no rule {number}; it may have been removed already")
        return rule

    def clear(self) -> None:
        """Ends all of them."""
        for rule in self._rules:
            self._forget(rule)

    def take_idle(self) -> list[str]:
        """A line for each rule that ended without having acted, since this was asked last; at most `MOST_IDLE`."""
        idle, self._idle = self._idle, []
        return idle

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __repr__(self) -> str:
        return visible(f"<faults: {'; '.join(map(str, self)) or 'none'}>")

    def apply(self, exchange: Exchange, response: Any) -> Any:
        """What becomes of a request, or (the stage ANSWER) of its answer; ON: nothing happens to it."""
        outcome = ON
        for rule in self._rules.of(exchange.stage, exchange.facts):
            if not rule.takes(exchange.facts):
                continue
            self.waiters.look()
            if rule.action.spoils:
                outcome = rule.action.act(exchange, response, self._chance)
                break
        return outcome

    def denies(self, facts: RequestFacts, right: Right, name: str) -> bool:
        """Whether a rule takes a right away from who sends this request."""
        return any(
            isinstance(rule.action, Deny) and rule.action.takes_away(right, name) and rule.takes(facts)
            for rule in self._rules.of(ACCESS, facts)
        )

    def take_away(self, right: Right, name: str) -> bool:
        """Whether there is a rule that takes this right away from anybody."""
        return any(isinstance(rule.action, Deny) and rule.action.takes_away(right, name) for rule in self._rules)

    def silences(self, facts: RequestFacts) -> bool:
        """Whether a request like this would be lost now; nothing is counted."""
        return any(rule.action.silences(facts) and rule.would_take(facts) for rule in self._rules.of(REQUEST, facts))

    def _forget(self, rule: Rule) -> None:
        if self._rules.discard(rule):
            if rule.idle and len(self._idle) < MOST_IDLE:
                self._idle.append(rule.idle)
            rule.action.ended()


def _nothing_to_do() -> None:
    """What a cluster needs that asks for rights already, or has no brokers, as in tests."""


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
