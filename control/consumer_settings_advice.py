"""What is wrong with the settings of a consumer group and its members, as far as the coordinator knows (KIP-848)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kohort.control.settings_advice import Names, new_ids_at_restarts, rare_heartbeats
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.targets import preferred_assignor
from kohort.coordinator.events.group_event import GroupEvent


def consumers_badly_set(group: ConsumerGroup, names: Names, events: Iterable[GroupEvent] = ()) -> tuple[str, ...]:
    """A sentence for each thing; `names`: what members are called; `events`: what has happened to the group."""
    members = group.members.values()
    return (
        *_short_session(group),
        *_short_rebalances(group, names),
        *_rare_heartbeats(group, names),
        *_votes(group, names),
        *new_ids_at_restarts(
            ((names[each.member_id], each.metadata.client_id, each.metadata.instance_id) for each in members), events
        ),
    )


def _short_session(group: ConsumerGroup) -> Iterator[str]:
    """The broker tells members how often to send a heartbeat, and how long it waits for one."""
    config = group.coordinator.consumer_config(group.group_id)
    session_ms, interval_ms = config.session_timeout_ms, config.heartbeat_interval_ms
    if group.classic_count < len(group.members) and interval_ms * 3 > session_ms:
        yield (
            f"the group's session timeout (consumer.session.timeout.ms, {session_ms / 1_000:g} s) is shorter than "
            f"three heartbeat intervals (consumer.heartbeat.interval.ms, {interval_ms / 1_000:g} s): two lost ones end "
            "a membership"
        )


def _short_rebalances(group: ConsumerGroup, names: Names) -> Iterator[str]:
    interval_ms = group.coordinator.consumer_config(group.group_id).heartbeat_interval_ms
    for each in group.members.values():
        timeout_ms = each.metadata.rebalance_timeout_ms
        if not each.is_classic and timeout_ms < interval_ms:
            yield (
                f"{names[each.member_id]}'s rebalance timeout ({timeout_ms / 1_000:g} s; in Java max.poll.interval.ms) "
                f"is shorter than the heartbeat interval ({interval_ms / 1_000:g} s): it is removed before it can say "
                "that it gave something up"
            )


def _rare_heartbeats(group: ConsumerGroup, names: Names) -> Iterator[str]:
    config = group.coordinator.consumer_config(group.group_id)
    for each in group.members.values():
        classic = each.metadata.classic
        session_ms = config.session_timeout_ms if classic is None else classic.session_timeout_ms
        for found in rare_heartbeats(names[each.member_id], each.stats, session_ms):
            if classic is None:
                yield f"{found}; it is told to send one every {config.heartbeat_interval_ms / 1_000:g} s"
            else:
                yield f"{found}; lower heartbeat.interval.ms"


def _votes(group: ConsumerGroup, names: Names) -> Iterator[str]:
    """One assignor counts for all: that of most votes (consumer-groups §10 rule 2)."""
    chosen = preferred_assignor(group)
    ignored: dict[str, list[ConsumerMember]] = {}
    for each in group.members.values():
        wanted = each.metadata.assignor
        if wanted is not None and wanted != chosen:
            ignored.setdefault(wanted, []).append(each)
    for assignor, members in ignored.items():
        who = ", ".join(names[each.member_id] for each in members)
        yield (
            f"{who} want{'s'[len(members) > 1 :]} the assignor {assignor} (group.remote.assignor), but the group uses "
            f"{chosen}: the votes of most members count"
        )
