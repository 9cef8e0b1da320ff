"""Actions of a rule: the `.drop(times=2)` of `faults.on("Heartbeat", group="billing").drop(times=2)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import TypedDict, Unpack

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
from kohort.control.faults.assignments import Change
from kohort.control.faults.conditions import Condition
from kohort.control.faults.matching import ANY, Match
from kohort.control.faults.rules import Rule
from kohort.control.faults.triggers import Trigger, trigger
from kohort.control.gates.gate_points import ANSWER, REQUEST
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

    def count(self, **options: Unpack[When]) -> Rule:
        """Count matching requests without changing them: see `Rule.acted` and `Rule.wait`. Other rules still apply."""
        return self._rule(Count(), options)

    def error(self, name: str, **options: Unpack[When]) -> Rule:
        """Return an error, given by Kafka's name; the broker does not receive the request."""
        return self._rule(Refuse.by_name(name), options)

    def drop(self, **options: Unpack[When]) -> Rule:
        """Drop requests: the client gets no response on that connection until the rule ends and closes it."""
        return self._rule(Drop(), options)

    def hold(self, **options: Unpack[When]) -> Rule:
        """Hold requests until the rule is removed. To release them one by one at a named point, use a gate."""
        return self._rule(Hold(), options)

    def lose_response(self, **options: Unpack[When]) -> Rule:
        """Handle requests and drop the response and everything after it on that connection."""
        return self._rule(Drop(ANSWER), options)

    def close(self, **options: Unpack[When]) -> Rule:
        """Close the connection instead of handling the request."""
        return self._rule(Close(), options)

    def close_after_handling(self, **options: Unpack[When]) -> Rule:
        """Handle the request and close the connection without a response."""
        return self._rule(Close(ANSWER), options)

    def truncate(self, length: int, **options: Unpack[When]) -> Rule:
        """Send only the first bytes of the response, including its length, and close the connection."""
        return self._rule(Truncate(length), options)

    def delay(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **options: Unpack[When]
    ) -> Rule:
        """Delay requests by seconds of the broker's clock, plus up to `jitter` seconds, or until a condition.

        Args:
            until: A state of the request's group (`Stable`), a group event (`member_added`), or a gate point that one
                of its requests reaches (`join-complete`); the end of the rule ends the delay, too. See
                `kohort.control.faults.conditions`.
        """
        return self._rule(_delay(seconds, jitter, until, REQUEST), options)

    def delay_response(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **options: Unpack[When]
    ) -> Rule:
        """Handle requests immediately and delay the response by a time or until a condition."""
        return self._rule(_delay(seconds, jitter, until, ANSWER), options)

    def hide_node(self, node: int, **options: Unpack[When]) -> Rule:
        """Hide a node in Metadata responses; its partitions appear without a leader."""
        return self._rule(HideNode(node), options)

    def as_kafka(self, release: str, **options: Unpack[When]) -> Rule:
        """Return the ApiVersions response of another release of Kafka, such as "2.8".

        Clients send one request per connection: add the rule before they connect. The broker's behaviour does not
        change; see `Cluster(as_kafka=…)` for that.
        """
        if release not in RELEASES:
            raise unknown("Kafka release", release, RELEASES)
        return self._rule(OldApiVersions(release), options)

    def stale_metadata(self, **options: Unpack[When]) -> Rule:
        """Return the leaders of this moment in Metadata responses, whatever moves later."""
        leaders = {
            (topic.name, partition.index): (partition.leader, partition.leader_epoch)
            for topic in self._topics
            for partition in topic.partitions
        }
        return self._rule(StaleMetadata(leaders), options)

    def zombie(self, **options: Unpack[When]) -> Rule:
        """Let a node that loses the group's coordination continue to answer for it until the rule ends.

        This applies to all groups of that partition of `__consumer_offsets`. See `kohort.control.faults.zombies`.
        """
        unfit = [
            field.name
            for field in fields(Match)
            if field.name not in ("group", "node") and getattr(self._match, field.name) not in (None, ANY)
        ]
        if unfit:
            raise ControlError(f"a zombie is selected by group and node; {unfit[0]} is not supported")
        return self._rule(StayLeader(), options)

    def deny(
        self,
        operation: str = "All",
        *,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        **options: Unpack[When],
    ) -> Rule:
        """Deny the sender an operation, by Kafka's name (`Read`), on the named resource, or on everything.

        The broker rejects requests or hides resources as Kafka does without an ACL. No authorizer is required.
        """
        resource = resource_named(topic, group, transactional_id, cluster=cluster)
        kind, name = (None, ANY) if resource is None else resource
        return self._rule(Deny(operation_named(operation), kind, name), options)

    def assign(self, change: Change, **options: Unpack[When]) -> Rule:
        """Modify the assignments of a SyncGroup request before the broker receives it.

        See `kohort.control.faults.assignments`.
        """
        return self._rule(Assign(change), options)

    def _rule(self, action: Action, options: When) -> Rule:
        if action.only_for is not None and self._match.api not in (action.only_for, ANY):
            raise ControlError(f"only {action.only_for} requests support this action ({action}), not {self._match.api}")
        match = self._match if action.only_for is None else replace(self._match, api=action.only_for)
        return self._add(match, action, trigger(options))


def _delay(seconds: Seconds | None, jitter: Seconds, until: str | None, stage: str) -> Action:
    if (seconds is None) == (until is None):
        raise ControlError("a delay requires either seconds or until: a state, a group event or a gate point")
    if until is not None:
        if jitter:
            raise ControlError(f"jitter requires seconds; a delay until {until} has no jitter")
        return DelayUntil(Condition(until), stage)
    assert seconds is not None, "either seconds or until is given"
    return Delay(length_ms(seconds, "a delay"), length_ms(jitter, "jitter"), stage)
