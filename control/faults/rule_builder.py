"""The second half of a rule's sentence: `faults.on("Heartbeat", group="billing")` **`.drop(times=2)`**."""

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
    """When a rule acts; always, unless something is given. See `Trigger`."""

    times: int
    nth: int
    probability: float


class RuleBuilder:
    """Requests that something is going to happen to."""

    def __init__(
        self, match: Match, add: Callable[[Match, Action, Trigger], Rule], topics: Iterable[Topic] = ()
    ) -> None:
        self._match = match
        self._add = add
        self._topics = topics

    def count(self, **when: Unpack[When]) -> Rule:
        """They are counted, and nothing happens to them: see `Rule.acted` and `Rule.wait`. Other rules still act."""
        return self._rule(Count(), when)

    def error(self, name: str, **when: Unpack[When]) -> Rule:
        """They are answered with an error, by Kafka's name; the broker never sees them."""
        return self._rule(Refuse.by_name(name), when)

    def drop(self, **when: Unpack[When]) -> Rule:
        """They are lost on the way: the client hears nothing on that connection, till the rule ends and closes it."""
        return self._rule(Drop(), when)

    def hold(self, **when: Unpack[When]) -> Rule:
        """They wait until the rule is removed, and go on then. Until a test says so at a named moment: see gates."""
        return self._rule(Hold(), when)

    def lose_answer(self, **when: Unpack[When]) -> Rule:
        """The broker does what is asked, but its answer is lost, with all that follows on that connection."""
        return self._rule(Drop(ANSWER), when)

    def close(self, **when: Unpack[When]) -> Rule:
        """The broker hangs up instead of handling them."""
        return self._rule(Close(), when)

    def close_instead_of_answering(self, **when: Unpack[When]) -> Rule:
        """The broker does what is asked, and hangs up."""
        return self._rule(Close(ANSWER), when)

    def truncate(self, length: int, **when: Unpack[When]) -> Rule:
        """Only the first bytes of the answer arrive (the four of its length count), then the broker hangs up."""
        return self._rule(Truncate(length), when)

    def delay(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **when: Unpack[When]
    ) -> Rule:
        """The broker sees them so much later, by its own clock; `jitter`: at most this many seconds more.

        `until`: not by time, but when their group reaches a state (`Stable`), has a group event (`member_added`), or
        has a request at a gate point (`join-complete`); or when the rule ends. See `kohort.control.conditions`.
        """
        return self._rule(_delay(seconds, jitter, until, REQUEST), when)

    def delay_answer(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **when: Unpack[When]
    ) -> Rule:
        """The broker handles them at once, and its answers leave so much later, or when something is reached."""
        return self._rule(_delay(seconds, jitter, until, ANSWER), when)

    def hide_node(self, node: int, **when: Unpack[When]) -> Rule:
        """Metadata only: the answer leaves a node out; what it leads seems to have no leader."""
        return self._rule(HideNode(node), when)

    def as_kafka(self, release: str, **when: Unpack[When]) -> Rule:
        """ApiVersions only: the answer is that of an older release of Kafka, as in "2.8".

        Clients ask once a connection: make the rule before they connect. The broker behaves as its own release; see
        `Cluster(as_kafka=…)` for one that does not.
        """
        if release not in RELEASES:
            raise unknown("release of Kafka", release, RELEASES)
        return self._rule(OldApiVersions(release), when)

    def stale_metadata(self, **when: Unpack[When]) -> Rule:
        """Metadata only: the answer names who leads at this moment, whatever moves later."""
        leaders = {
            (topic.name, partition.index): (partition.leader, partition.leader_epoch)
            for topic in self._topics
            for partition in topic.partitions
        }
        return self._rule(StaleMetadata(leaders), when)

    def zombie(self, **when: Unpack[When]) -> Rule:
        """A node that loses the group's coordination goes on answering for it till the rule ends.

        It does so for all groups of that partition of `__consumer_offsets`. See `kohort.control.zombies`.
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
        """Their sender is without a right, by Kafka's name (`Read`), on what is named; on everything if nothing is.

        The broker refuses or hides as Kafka does without an ACL. The cluster needs no authorizer for it.
        """
        resource = resource_named(topic, group, transactional_id, cluster=cluster)
        kind, name = (None, ANY) if resource is None else resource
        return self._rule(Deny(operation_named(operation), kind, name), when)

    def assign(self, change: Change, **when: Unpack[When]) -> Rule:
        """SyncGroup only: the broker sees other assignments than the leader sent. See `kohort.control.assignments`."""
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
