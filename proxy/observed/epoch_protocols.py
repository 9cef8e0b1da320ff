"""The newer group protocols, as the fields of their heartbeats and descriptions show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from kohort.coordinator.events.task_names import RoleTask, task_names
from kohort.coordinator.groups.group import CONSUMER, SHARE, STREAMS
from kohort.coordinator.groups.group_types import MODERN_TYPES
from kohort.coordinator.streams.streams_owners import Role

if TYPE_CHECKING:
    from kohort.proxy.observed.observed_member import ObservedMember

Items = frozenset[Any]
"""Partitions by topic id, or tasks (`RoleTask`)."""


def _read_assignment(answer: Any) -> Items | None:
    return None if answer.assignment is None else _partitions(answer.assignment.topic_partitions)


def _read_owned(request: Any) -> Items | None:
    return None if request.topic_partitions is None else _partitions(request.topic_partitions)


def _read_described(assignment: Any, topics: dict[UUID, str]) -> Items:
    for topic in assignment.topic_partitions:
        if topic.topic_id is not None and topic.topic_name:
            topics.setdefault(topic.topic_id, topic.topic_name)
    return _partitions(assignment.topic_partitions)


def _partitions(topics: Iterable[Any]) -> Items:
    """Return the partitions by topic id, because a topic's name may become known later."""
    return frozenset((topic.topic_id, number) for topic in topics for number in topic.partitions)


def _update_topics(member: ObservedMember, request: Any) -> str | None:
    names = request.subscribed_topic_names
    if names is not None and tuple(sorted(names)) != member.topics:
        member.topics = tuple(sorted(names))
        return "subscription"
    return None


def _update_consumer(member: ObservedMember, request: Any) -> str | None:
    regex, assignor = request.subscribed_topic_regex, request.server_assignor
    changed = _update_topics(member, request)
    if regex is not None and regex != member.topic_regex:
        member.topic_regex, changed = regex, "subscription"
    if assignor is not None and assignor != member.assignor:
        member.assignor, changed = assignor, changed or "assignor"
    return changed


def _read_tasks(fields: Any) -> frozenset[RoleTask] | None:
    by_role = (fields.active_tasks, fields.standby_tasks, fields.warmup_tasks)
    if all(ids is None for ids in by_role):
        return None
    return frozenset(
        RoleTask(role, ids.subtopology_id, partition)
        for role, tasks in zip(Role, by_role, strict=True)
        for ids in tasks or ()
        for partition in ids.partitions
    )


def _find_active(tasks: Items) -> Items:
    return frozenset((task.subtopology_id, task.partition) for task in tasks if task.role is Role.ACTIVE)


class EpochProtocol(NamedTuple):
    """One protocol, by default that of consumer groups (KIP-848)."""

    group_type: str
    # The assignment in a response, and what a member states to own in a request; None if that is unchanged.
    read_assignment: Callable[[Any], Items | None] = _read_assignment
    read_owned: Callable[[Any], Items | None] = _read_owned
    # The assignment in a description. Adds the names of its topics, by id.
    read_described: Callable[[Any, dict[UUID, str]], Items] = _read_described
    # Changes a member to the properties in a request. Returns the name of one that differs, or None.
    update_member: Callable[[ObservedMember, Any], str | None] = _update_topics
    find_exclusive: Callable[[Items], Items] = lambda items: items  # those that only one member at a time may have
    name_partitions: Callable[[Items], dict[str, str]] = lambda _: {}  # fields of an event that name them
    has_tasks: bool = False
    counts_heartbeats: bool = False
    revokes: bool = True  # whether members wait for others to revoke partitions
    # state once all members have their assignments; None if that is not observable
    settled_state: str | None = "Stable"
    omitted_events: frozenset[str] = frozenset()  # events that brokers do not report for such groups

    @property
    def heartbeat_api(self) -> str:
        return f"{self.group_type}_group_heartbeat"


_SPECIAL: Final = {
    CONSUMER: EpochProtocol(CONSUMER, update_member=_update_consumer, counts_heartbeats=True),
    SHARE: EpochProtocol(
        SHARE,  # KIP-932: members share partitions, and none is revoked first
        read_owned=lambda _: None,
        find_exclusive=lambda _: frozenset(),
        revokes=False,
        omitted_events=frozenset({"member_metadata_changed", "commit_rejected", "member_replaced"}),
    ),
    STREAMS: EpochProtocol(
        STREAMS,  # KIP-1071
        read_assignment=_read_tasks,
        read_owned=_read_tasks,
        read_described=lambda assignment, _: _read_tasks(assignment) or frozenset(),
        update_member=lambda _, __: None,
        find_exclusive=_find_active,
        name_partitions=task_names,
        has_tasks=True,
        settled_state=None,
        omitted_events=frozenset({"commit_rejected"}),
    ),
}
EPOCH_PROTOCOLS: Final = {row.name: _SPECIAL.get(row.name) or EpochProtocol(row.name) for row in MODERN_TYPES}
