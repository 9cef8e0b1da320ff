"""Unsuitable settings of a consumer group and its members, as far as the coordinator knows them (KIP-848)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kohort.control.explain.settings_advice import Names, new_ids_at_restarts, rare_heartbeats
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.targets import preferred_assignor
from kohort.coordinator.events.group_event import GroupEvent


def consumers_badly_set(group: ConsumerGroup, names: Names, events: Iterable[GroupEvent] = ()) -> tuple[str, ...]:
    """Return a sentence for each unsuitable setting.

    Args:
        names: Display names by member id.
        events: Recorded events of the group.
    """
    members = group.members.values()
    return (
        *_short_session(group),
        *_short_rebalances(group, names),
        *_rare_heartbeats(group, names),
        *_votes(group, names),
        *new_ids_at_restarts(
            ((names[member.member_id], member.metadata.client_id, member.metadata.instance_id) for member in members),
            events,
        ),
    )


def _short_session(group: ConsumerGroup) -> Iterator[str]:
    config = group.coordinator.consumer_config(group.group_id)
    session_ms, interval_ms = config.session_timeout_ms, config.heartbeat_interval_ms
    if group.classic_count < len(group.members) and interval_ms * 3 > session_ms:
        yield (
            f"the group's session timeout (consumer.session.timeout.ms, {session_ms / 1_000:g} s) is shorter than "
            f"three heartbeat intervals (consumer.heartbeat.interval.ms, {interval_ms / 1_000:g} s): two lost "
            "heartbeats end a session"
        )


def _short_rebalances(group: ConsumerGroup, names: Names) -> Iterator[str]:
    interval_ms = group.coordinator.consumer_config(group.group_id).heartbeat_interval_ms
    for member in group.members.values():
        timeout_ms = member.metadata.rebalance_timeout_ms
        if not member.is_classic and timeout_ms < interval_ms:
            yield (
                f"{names[member.member_id]}'s rebalance timeout ({timeout_ms / 1_000:g} s; max.poll.interval.ms) "
                f"is shorter than the heartbeat interval ({interval_ms / 1_000:g} s): it is removed before it can "
                "confirm a revocation"
            )


def _rare_heartbeats(group: ConsumerGroup, names: Names) -> Iterator[str]:
    config = group.coordinator.consumer_config(group.group_id)
    for member in group.members.values():
        classic = member.metadata.classic
        session_ms = config.session_timeout_ms if classic is None else classic.session_timeout_ms
        for sentence in rare_heartbeats(names[member.member_id], member.stats, session_ms):
            if classic is None:
                yield f"{sentence}; the broker requests one every {config.heartbeat_interval_ms / 1_000:g} s"
            else:
                yield f"{sentence}; lower heartbeat.interval.ms"


def _votes(group: ConsumerGroup, names: Names) -> Iterator[str]:
    """Yield the assignors that members vote for in vain.

    The one with most votes is used (consumer-groups §10 rule 2).
    """
    chosen = preferred_assignor(group)
    ignored: dict[str, list[ConsumerMember]] = {}
    for member in group.members.values():
        vote = member.metadata.assignor
        if vote is not None and vote != chosen:
            ignored.setdefault(vote, []).append(member)
    for assignor, members in ignored.items():
        voters = ", ".join(names[member.member_id] for member in members)
        yield (
            f"{voters} want{'s'[len(members) > 1 :]} the assignor {assignor} (group.remote.assignor), but the "
            f"group uses {chosen}: the assignor with most votes is used"
        )
