"""A group as a test and the control address see it through the proxy. What is not known is not made up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from kohort.control.any_group import DEAD, UNKNOWN, AnyGroup
from kohort.control.control_errors import ControlError
from kohort.control.group_members import GroupMember, classic_member
from kohort.control.waiting import PATIENCE_S
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.seen.classic_known import NOT_KNOWN_MS
from kohort.proxy.seen.classic_sight import ClassicSight
from kohort.proxy.seen.epoch_member import EpochMember
from kohort.proxy.seen.epoch_sight import EpochSight
from kohort.proxy.seen.explain_seen import explain_seen

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.seen.group_listener import AnySight
    from kohort.proxy.seen.groups_passing import SeenGroups


class ProxyGroup(AnyGroup):
    """A group of any kind, as far as its members speak through the proxy."""

    def __init__(self, seen: SeenGroups, group_id: str) -> None:
        super().__init__(cast(Any, seen), group_id)
        self._seen = seen

    @property
    def type(self) -> str:
        """`classic`, `consumer`, `share` or `streams`; empty where nothing was heard of such a group."""
        sight = self._sight
        return "" if sight is None else sight.kind

    @property
    def generation(self) -> int:
        """The newest that an answer has said; of all groups but classic ones an epoch of a member. 0: none has."""
        sight = self._sight
        if isinstance(sight, ClassicSight):
            return sight.group.generation_id if sight.has_generation else 0
        return 0 if sight is None else sight.epoch

    @property
    def assignment_epoch(self) -> int:
        """As `generation`: that of the target is not seen."""
        return self.generation

    @property
    def protocol(self) -> str:
        """The assignor of a classic group, once an answer has said it; else empty."""
        sight = self._sight
        return (sight.group.protocol_name or "") if isinstance(sight, ClassicSight) else ""

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Those that speak through the proxy, or that a leader there or the proxy itself was told of."""
        sight, now_ms = self._sight, self._laboratory.clock.now_ms()
        if isinstance(sight, ClassicSight):
            alive = sight.connected
            return tuple(
                classic_member(sight.group, each, now_ms, alive.get(each.member_id, True))
                for each in sight.members.values()
            )
        return () if sight is None else tuple(_member(sight, each) for each in sight.members.values())

    @property
    def coordinator(self) -> int | None:
        """The node that has answered for it last; None: that is not known."""
        sight = self._sight
        return None if sight is None or sight.node_id == NO_NODE else sight.node_id

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What was committed through the proxy, by topic and partition."""
        sight = self._sight
        return {} if sight is None else dict(sight.offsets)

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How far the ends of the logs are from what was committed through the proxy, where both are known.

        The ends are asked for in the background, and at most once a second: what comes back may be a second old.
        """
        return self._seen.log_ends.lag_of(self.offsets)

    @property
    def is_settled(self) -> bool:
        """Whether everybody who is known has their share."""
        sight = self._sight
        if isinstance(sight, EpochSight):
            return self.state == "Stable" and sight.is_settled
        return super().is_settled

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        lag = self.lag
        return bool(lag) and lag.keys() == self.offsets.keys() and not any(lag.values())

    def explain(self) -> Explanation:
        """Whom it waits for, what each client should do now, and where that is known from; print it."""
        return explain_seen(self.id, self._sight, self._laboratory.clock.now_us())

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not."""
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up, timeout, lambda: f"{self} has not caught up: {self.lag}"
        )

    async def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Until so much of a partition was committed through the proxy, or more. Raises TimeoutError."""
        committed = (topic, partition)
        await self._laboratory.waiters.until(
            lambda: self.offsets.get(committed, -1) >= offset,
            timeout,
            lambda: (
                f"{self} has committed {self.offsets.get(committed, 'nothing')} of {topic}-{partition}, not {offset}"
            ),
        )

    def move_coordinator(self, node: int) -> NoReturn:
        """Not here. Raises ControlError."""
        raise ControlError("a proxy can't move a coordinator: which node looks after a group is the cluster's affair")

    async def delete(self, timeout: Seconds = PATIENCE_S) -> NoReturn:
        """Not here. Raises ControlError."""
        raise ControlError("a proxy deletes no group; ask the cluster, as kafka-consumer-groups --delete does")

    async def commit(self, *arguments: object, **options: object) -> NoReturn:
        """Not here. Raises ControlError."""
        raise ControlError("a proxy commits nothing; ask the cluster, as kafka-consumer-groups --reset-offsets does")

    reset = commit

    # Within

    @property
    def _sight(self) -> AnySight | None:
        """What is known of it. The cluster is asked in the background, unless that is fresh."""
        sight = self._seen.listener.groups.get(self.id)
        if sight is not None:
            self._seen.descriptions.look(self.id, sight.kind)
        return sight

    def _state(self) -> str:
        sight = self._sight
        if isinstance(sight, ClassicSight):
            return sight.group.state.value if sight.is_state_known else UNKNOWN
        return "" if sight is None else sight.state

    def _state_of_none(self) -> str:
        return DEAD

    def __str__(self) -> str:
        sight = self._sight
        if sight is None:
            return f"group {self.id}, of which nothing was heard"
        members = ", ".join(f"{each} ({each.waits_for})" if each.waits_for else str(each) for each in self.members)
        count = "generation" if sight.kind == "classic" else "epoch"
        more = "" if sight.is_complete else ", perhaps others"
        return f"group {self.id} ({self.state}, {count} {self.generation}, members: {members or 'none'}{more})"


def _member(sight: EpochSight, member: EpochMember) -> GroupMember:
    has, revoking = sight.by_topic(member.has), sight.by_topic(member.revoking)
    behind = member.epoch != sight.epoch and not member.is_away
    return GroupMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client.client_id,
        client_host=member.client.client_host.lstrip("/"),
        session_timeout_ms=NOT_KNOWN_MS,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        is_leader=False,
        is_alive=member.is_connected,
        waits_for="",
        partitions=has,
        speaks=member.speaks or sight.kind,
        epoch=member.epoch,
        state="UnrevokedPartitions" if revoking else "" if behind else "Stable",
        target=has,
        revoking=revoking,
        topics=member.topics,
        topic_regex=member.topic_regex,
        assignor=member.assignor,
        session_ends_in_ms=None,
        revocation_ends_in_ms=None,
    )
