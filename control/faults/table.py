"""All fault rules of a cluster, and the methods that add them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from random import Random
from typing import Any, Unpack

from kohort.base.visible import visible
from kohort.control.control_errors import NotFoundError
from kohort.control.exchange import UNCHANGED, Exchange
from kohort.control.faults.actions import ACCESS, Action, Deny, HideNode, Hold
from kohort.control.faults.matching import ANY, Match, MatchOptions
from kohort.control.faults.rule_builder import RuleBuilder
from kohort.control.faults.rule_index import RuleIndex
from kohort.control.faults.rules import Rule
from kohort.control.faults.triggers import Trigger
from kohort.control.gates.gate_points import REQUEST
from kohort.control.request_facts import RequestFacts
from kohort.control.suggesting import suggest_names
from kohort.control.waiting import Waiters
from kohort.security.rights import Right
from kohort.storage.topic import Topic

MAX_IDLE_RULES = 100


@suggest_names
class Faults:
    """Rules in the order of their creation.

    The first exclusive one that applies to a request is the last that counts it.
    """

    def __init__(
        self, chance: Random, topics: Iterable[Topic], nodes: Collection[int], waiters: Waiters | None = None
    ) -> None:
        """Create an empty table.

        Args:
            waiters: Notified when a rule is applied.
        """
        self.waiters = Waiters() if waiters is None else waiters
        self._chance = chance
        self._topics = topics
        self._nodes = nodes
        self._rules = RuleIndex()
        self._last_number = 0
        self._idle: list[str] = []
        # enables the brokers' checks of rights, if they are not enabled
        self.asks_for_rights: Callable[[], None] = _nothing_to_do

    def on(self, api: str = ANY, **conditions: Unpack[MatchOptions]) -> RuleBuilder:
        """Select requests of an API, or of any, by conditions, and choose an action next.

        For example: `faults.on("Heartbeat", group="billing").drop(times=2)`. See `Match` for the conditions.

        Raises:
            ControlError: An API, condition or state does not exist. The message has the nearest valid name.
        """
        return RuleBuilder(Match.of({"api": api, **conditions}), self.add, self._topics)

    def freeze(
        self, *, group: str, member: str | None = None, instance: str | None = None, client_id: str | None = None
    ) -> Rule:
        """Hold a member's requests for its group, as if its process hangs without leaving.

        They continue when the rule is removed, perhaps too late. That is how zombies arise.
        """
        return self.add(
            Match.of(_without_none(group=group, member=member, instance=instance, client_id=client_id)),
            Hold(),
            Trigger(),
        )

    def cut_off(self, client_id: str, node: int) -> Rule:
        """Disconnect a client and a node, also on new connections, until the rule is removed."""
        return self.add(Match.of({"client_id": client_id, "node": node}), Hold(), Trigger())

    def hide_node(self, node: int) -> Rule:
        """Hide a node in Metadata responses from now on; its partitions appear without a leader.

        The node keeps serving.
        """
        return self.on("Metadata").hide_node(node)

    def stale_metadata(self) -> Rule:
        """Return the current leaders in all later Metadata responses, even when leaders move."""
        return self.on("Metadata").stale_metadata()

    def as_kafka(self, release: str, *, client_id: str = ANY) -> Rule:
        """Give clients that connect from now on the API versions of an older Kafka release, such as "2.8"."""
        return self.on("ApiVersions", client_id=client_id).as_kafka(release)

    def zombie(self, *, group: str, node: int | None = None) -> Rule:
        """Let a node that loses a group's partition continue to answer for its groups; see `RuleBuilder.zombie`."""
        return (self.on(group=group) if node is None else self.on(group=group, node=node)).zombie()

    def add(self, match: Match, action: Action, trigger: Trigger) -> Rule:
        """Add a rule. Raise NotFoundError for an unknown node."""
        for node in (match.node, action.node if isinstance(action, HideNode) else None):
            if node is not None and node not in self._nodes:
                raise NotFoundError(f"unknown node {node!r}; the nodes are {', '.join(map(str, self._nodes))}")
        if isinstance(action, Deny):
            self.asks_for_rights()
        self._last_number += 1
        rule = Rule(self._last_number, match, action, trigger, self._chance, self._forget, self.waiters)
        self._rules.add(rule)
        return rule

    def remove(self, number: int) -> None:
        """End a rule. Raise NotFoundError if it doesn't exist."""
        self._forget(self.get(number))

    def get(self, number: int) -> Rule:
        """Return the rule with a number. Raise NotFoundError if it doesn't exist."""
        rule = self._rules.get(number)
        if rule is None:
            raise NotFoundError(f"unknown rule {number}; it may have been removed already")
        return rule

    def clear(self) -> None:
        """End all rules."""
        for rule in self._rules:
            self._forget(rule)

    def take_idle(self) -> list[str]:
        """Return a line for each rule that ended unapplied since the last call; at most `MAX_IDLE_RULES`."""
        idle, self._idle = self._idle, []
        return idle

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __repr__(self) -> str:
        return visible(f"<faults: {'; '.join(map(str, self)) or 'none'}>")

    def apply(self, exchange: Exchange, response: Any) -> Any:
        """Return what the rules make of a request, or (at the stage ANSWER) of its response; UNCHANGED without one."""
        outcome = UNCHANGED
        for rule in self._rules.of(exchange.stage, exchange.facts):
            if not rule.takes(exchange.facts):
                continue
            self.waiters.look()
            if rule.action.is_exclusive:
                outcome = rule.action.act(exchange, response, self._chance)
                break
        return outcome

    def denies(self, facts: RequestFacts, right: Right, name: str) -> bool:
        return any(
            isinstance(rule.action, Deny) and rule.action.takes_away(right, name) and rule.takes(facts)
            for rule in self._rules.of(ACCESS, facts)
        )

    def take_away(self, right: Right, name: str) -> bool:
        """Return whether a rule denies this right to any client."""
        return any(isinstance(rule.action, Deny) and rule.action.takes_away(right, name) for rule in self._rules)

    def silences(self, facts: RequestFacts) -> bool:
        """Return whether a request like this would be lost now, without counting."""
        return any(rule.action.silences(facts) and rule.would_take(facts) for rule in self._rules.of(REQUEST, facts))

    def _forget(self, rule: Rule) -> None:
        if self._rules.discard(rule):
            if rule.idle and len(self._idle) < MAX_IDLE_RULES:
                self._idle.append(rule.idle)
            rule.action.ended()


def _nothing_to_do() -> None:
    pass  # the default if rights are checked already, or without brokers


def _without_none(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
