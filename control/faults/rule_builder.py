"""The second half of a rule: `faults.on("Heartbeat", group="billing")` **`.drop(times=2)`**."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import TypedDict, Unpack

from kohort.control.assignments import Change
from kohort.control.conditions import Condition
from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults.actions import (
    Action,
    Assign,
    Close,
    Count,
    Delay,
    DelayUntil,
    Deny,
    Drop,
    HideNode,
    Hold,
    OldApiVersions,
    Refuse,
    StaleMetadata,
    StayLeader,
    Truncate,
)
from kohort.control.faults.matching import ANY, Match
from kohort.control.faults.rules import Rule
from kohort.control.faults.triggers import Trigger, trigger
from kohort.control.gate_points import ANSWER, REQUEST
from kohort.control.numbers import Seconds, length_ms
from kohort.control.resources import operation_named, resource_named
from kohort.protocol.releases import RELEASES
from kohort.storage.topic import Topic


class When(TypedDict, total=False):
    """Limits when a rule is applied; always by default. See `Trigger`."""

    times: int
    nth: int
    probability: float


class RuleBuilder:
    """Requests that a rule matches, before its action is chosen."""

    def __init__(
        self, match: Match, add: Callable[[Match, Action, Trigger], Rule], topics: Iterable[Topic] = ()
    ) -> None:
        self._match = match
        self._add = add
        self._topics = topics

    def count(self, **when: Unpack[When]) -> Rule:
        """Count matching requests without changing them: see `Rule.acted` and `Rule.wait`. Other rules still apply."""
        return self._rule(Count(), when)

    def error(self, name: str, **when: Unpack[When]) -> Rule:
        """Return an error, given by Kafka's name; the broker does not receive the request."""
        return self._rule(Refuse.by_name(name), when)

    def drop(self, **when: Unpack[When]) -> Rule:
        """Drop requests: the client gets no response on that connection until the rule ends and closes it."""
        return self._rule(Drop(), when)

    def hold(self, **when: Unpack[When]) -> Rule:
        """Hold requests until the rule is removed. To release them one by one at a named point, use a gate."""
        return self._rule(Hold(), when)

    def lose_response(self, **when: Unpack[When]) -> Rule:
        """Handle requests and drop the response and everything after it on that connection."""
        return self._rule(Drop(ANSWER), when)

    def close(self, **when: Unpack[When]) -> Rule:
        """Close the connection instead of handling the request."""
        return self._rule(Close(), when)

    def close_after_handling(self, **when: Unpack[When]) -> Rule:
        """Handle the request and close the connection without a response."""
        return self._rule(Close(ANSWER), when)

    def truncate(self, length: int, **when: Unpack[When]) -> Rule:
        """Send only the first bytes of the response, including its length, and close the connection."""
        return self._rule(Truncate(length), when)

    def delay(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **when: Unpack[When]
    ) -> Rule:
        """Delay requests by seconds of the broker's clock, plus up to `jitter` seconds, or until a condition.

        Args:
            until: A state of the request's group (`Stable`), a group event (`member_added`), or a gate point that one
                of its requests reaches (`join-complete`); the end of the rule ends the delay, too. See
                `kohort.control.conditions`.
        """
        return self._rule(_delay(seconds, jitter, until, REQUEST), when)

    def delay_response(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **when: Unpack[When]
    ) -> Rule:
        """Handle requests immediately and delay the response by a time or until a condition."""
        return self._rule(_delay(seconds, jitter, until, ANSWER), when)

    def hide_node(self, node: int, **when: Unpack[When]) -> Rule:
        """Omit a node from Metadata responses; its partitions appear without a leader."""
        return self._rule(HideNode(node), when)

    def as_kafka(self, release: str, **when: Unpack[When]) -> Rule:
        """Return the ApiVersions response of an older release of Kafka, such as "2.8".

        Clients send one request per connection: add the rule before they connect. The broker's behaviour does not
        change; see `Cluster(as_kafka=…)` for that.
        """
        if release not in RELEASES:
            raise unknown("release of Kafka", release, RELEASES)
        return self._rule(OldApiVersions(release), when)

    def stale_metadata(self, **when: Unpack[When]) -> Rule:
        """Return the leaders of this moment in Metadata responses, whatever moves later."""
        leaders = {
            (topic.name, partition.index): (partition.leader, partition.leader_epoch)
            for topic in self._topics
            for partition in topic.partitions
        }
        return self._rule(StaleMetadata(leaders), when)

    def zombie(self, **when: Unpack[When]) -> Rule:
        """Let a node that loses the group's coordination continue to answer for it until the rule ends.

        This applies to all groups of that partition of `__consumer_offsets`. See `kohort.control.zombies`.
        """
        unfit = [
            each.name
            for each in fields(Match)
            if each.name not in ("group", "node") and getattr(self._match, each.name) not in (None, ANY)
        ]
        if unfit:
            raise ControlError(f"a zombie is chosen by group and node; {unfit[0]} says nothing of it, leave it out")
        return self._rule(StayLeader(), when)

    def deny(
        self,
        operation: str = "All",
        *,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        **when: Unpack[When],
    ) -> Rule:
        """Deny the sender an operation, by Kafka's name (`Read`), on the named resource, or on everything.

        The broker rejects requests or hides resources as Kafka does without an ACL. No authorizer is required.
        """
        resource = resource_named(topic, group, transactional_id, cluster=cluster)
        kind, name = (None, ANY) if resource is None else resource
        return self._rule(Deny(operation_named(operation), kind, name), when)

    def assign(self, change: Change, **when: Unpack[When]) -> Rule:
        """Change the assignments of a SyncGroup request before the broker receives it.

        See `kohort.control.assignments`.
        """
        return self._rule(Assign(change), when)

    def _rule(self, action: Action, when: When) -> Rule:
        if action.only_for is not None and self._match.api not in (action.only_for, ANY):
            raise ControlError(f"only a {action.only_for} can {action}, not a {self._match.api}")
        match = self._match if action.only_for is None else replace(self._match, api=action.only_for)
        return self._add(match, action, trigger(when))


def _delay(seconds: Seconds | None, jitter: Seconds, until: str | None, stage: str) -> Action:
    if (seconds is None) == (until is None):
        raise ControlError("a delay takes either seconds, or until what: a state, a group event or a gate point")
    if until is not None:
        if jitter:
            raise ControlError(f"jitter is added to seconds; a delay until {until} has none")
        return DelayUntil(Condition(until), stage)
    assert seconds is not None, "one of both is given"
    return Delay(length_ms(seconds, "a delay"), length_ms(jitter, "jitter"), stage)
