"""Group as a test and the control address see it through the proxy, limited to what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from kohort.control.control_errors import ControlError
from kohort.control.groups.any_group import DEAD, UNKNOWN, AnyGroup
from kohort.control.groups.group_members import GroupMember, classic_member
from kohort.control.waiting import PATIENCE_S
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.seen.classic_known import NOT_KNOWN_MS
from kohort.proxy.seen.classic_sight import ClassicSight
from kohort.proxy.seen.epoch_member import EpochMember
from kohort.proxy.seen.epoch_sight import EpochSight
from kohort.proxy.seen.explain_seen import explain_seen

if TYPE_CHECKING:
    from kohort.control.explain.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.seen.group_listener import AnySight
    from kohort.proxy.seen.groups_passing import SeenGroups


class ProxyGroup(AnyGroup):
    """Group of any type, as far as its members connect through the proxy."""

    def __init__(self, groups: SeenGroups, group_id: str) -> None:
        super().__init__(cast(Any, groups), group_id)
        self._groups = groups

    @property
    def type(self) -> str:
        """`classic`, `consumer`, `share` or `streams`; empty for a group without observed traffic."""
        sight = self._sight
        return "" if sight is None else sight.kind

    @property
    def generation(self) -> int:
        """Newest generation in a response, or newest epoch of a member in groups that are not classic; 0 if unknown."""
        sight = self._sight
        if isinstance(sight, ClassicSight):
            return sight.group.generation_id if sight.has_generation else 0
        return 0 if sight is None else sight.epoch

    @property
    def assignment_epoch(self) -> int:
        """The same as `generation`, because the epoch of the target assignment is not observable."""
        return self.generation

    @property
    def protocol(self) -> str:
        """Assignor of a classic group, or empty before a response has contained it."""
        sight = self._sight
        return (sight.group.protocol_name or "") if isinstance(sight, ClassicSight) else ""

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Members that connect through the proxy, are in the list of a leader there, or were described to the proxy."""
        sight, now_ms = self._sight, self._laboratory.clock.now_ms()
        if isinstance(sight, ClassicSight):
            alive = sight.connected
            return tuple(
                classic_member(sight.group, member, now_ms, alive.get(member.member_id, True))
                for member in sight.members.values()
            )
        return () if sight is None else tuple(_member(sight, member) for member in sight.members.values())

    @property
    def coordinator(self) -> int | None:
        """Node that responded last as coordinator, or None if unknown."""
        sight = self._sight
        return None if sight is None or sight.node_id == NO_NODE else sight.node_id

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """Offsets committed through the proxy, by topic and partition."""
        sight = self._sight
        return {} if sight is None else dict(sight.offsets)

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """Difference between the end offsets and the offsets committed through the proxy, where both are known.

        End offsets are requested in the background at most once a second, so they may be a second old.
        """
        return self._groups.log_ends.lag_of(self.offsets)

    @property
    def is_settled(self) -> bool:
        """Whether all known members have their assignments."""
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
        """Explain what the group waits for and what each client should do; print the result."""
        return explain_seen(self.id, self._sight, self._laboratory.clock.now_us())

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until there is a `lag` and it is 0 everywhere. Raise TimeoutError with the lag otherwise."""
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up, timeout, lambda: f"{self} has not caught up: {self.lag}"
        )

    async def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until at least `offset` was committed through the proxy. Raise TimeoutError otherwise."""
        committed = (topic, partition)
        await self._laboratory.waiters.until(
            lambda: self.offsets.get(committed, -1) >= offset,
            timeout,
            lambda: (
                f"{self} has committed {self.offsets.get(committed, 'nothing')} of {topic}-{partition}, not {offset}"
            ),
        )

    def move_coordinator(self, node: int) -> NoReturn:
        """Raise ControlError; a proxy cannot do this."""
        raise ControlError("a proxy can't move a coordinator because the cluster elects it")

    async def delete(self, timeout: Seconds = PATIENCE_S) -> NoReturn:
        """Raise ControlError; a proxy cannot do this."""
        raise ControlError("a proxy can't delete a group; use kafka-consumer-groups --delete")

    async def commit(self, *arguments: object, **options: object) -> NoReturn:
        """Raise ControlError; a proxy cannot do this."""
        raise ControlError("a proxy can't commit offsets; use kafka-consumer-groups --reset-offsets")

    reset = commit

    # Within

    @property
    def _sight(self) -> AnySight | None:
        """What is known of the group. Its description is requested in the background unless a recent one exists."""
        sight = self._groups.listener.groups.get(self.id)
        if sight is not None:
            self._groups.descriptions.look(self.id, sight.kind)
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
            return f"group {self.id} (nothing observed)"
        members = ", ".join(
            f"{member} ({member.waits_for})" if member.waits_for else str(member) for member in self.members
        )
        count = "generation" if sight.kind == "classic" else "epoch"
        more = "" if sight.is_complete else ", perhaps others"
        return f"group {self.id} ({self.state}, {count} {self.generation}, members: {members or 'none'}{more})"


def _member(sight: EpochSight, member: EpochMember) -> GroupMember:
    partitions, revoking = sight.by_topic(member.has), sight.by_topic(member.revoking)
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
        partitions=partitions,
        speaks=member.speaks or sight.kind,
        epoch=member.epoch,
        state="UnrevokedPartitions" if revoking else "" if behind else "Stable",
        target=partitions,
        revoking=revoking,
        topics=member.topics,
        topic_regex=member.topic_regex,
        assignor=member.assignor,
        session_ends_in_ms=None,
        revocation_ends_in_ms=None,
    )
