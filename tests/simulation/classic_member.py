"""A member that speaks the classic protocol, eager or cooperative, in a group of either kind."""

from __future__ import annotations

from typing import Any

from kohort.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    assigned_partitions,
    read_subscription,
    write_assignment,
    write_subscription,
)
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.leave_group import MemberIdentity
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from tests.simulation.member import ELSEWHERE, Member, MemberWorld, Owned

JOIN_VERSION, SYNC_VERSION, BEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
PROTOCOL = "range"
GONE = (E.unknown_member_id, E.fenced_instance_id)


class ClassicMember(Member):
    """See above."""

    def __init__(
        self,
        world: MemberWorld,
        name: str,
        group: str,
        instance: str | None,
        names: tuple[str, ...],
        *,
        cooperative: bool = False,
        session_ms: int = 10_000,
        rebalance_ms: int = 5_000,
    ) -> None:
        super().__init__(world, name, group, instance, names)
        self.cooperative = cooperative
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.phase = "out"
        """out, synced, or joined: it is to sync next."""
        self.followers: tuple[Any, ...] = ()
        self.is_out_of_step = False
        """Whether its group believes that it has something else, until it syncs: see `consuming_promises`."""

    @property
    def settled(self) -> object:
        return super().settled, self.phase

    def forget(self) -> None:
        super().forget()
        self._is_out()

    def _is_out(self) -> None:
        self.phase, self.followers = "out", ()

    def is_cut_off(self) -> None:
        """What it asked for may have happened. A join or a sync is repeated."""
        if self.phase == "joined":
            self._is_out()

    def act(self) -> None:
        if self.phase == "out":
            self.joins()
        elif self.phase == "joined":
            self.syncs()
        elif self.world.random.random() < 0.5 or not self.fetches_or_commits():
            self.beats()

    def joins(self) -> None:
        """An eager member gives everything up before it asks."""
        if not self.cooperative:
            self.gives_up(self.owned)
        subscription = Subscription(version=1, topics=self.names, owned_partitions=self._by_name(self.owned))
        protocol = JoinGroupRequestProtocol(name=PROTOCOL, metadata=write_subscription(subscription))
        self.asks(
            "join_group", JOIN_VERSION, self._joined, group_id=self.group, session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms, member_id=self.member_id, group_instance_id=self.instance,
            protocol_type="consumer", protocols=(protocol,),
        )  # fmt: skip

    def _joined(self, response: Any) -> None:
        error = response.error_code
        self.world.say(f"{self} joins <- {error.name} {response.generation_id}")
        if error is E.member_id_required:
            self.member_id = response.member_id
        elif error is E.none:
            self.member_id, self.epoch = response.member_id, response.generation_id
            self.phase, self.followers = "joined", response.members
        else:
            self._is_refused(error)

    def syncs(self) -> None:
        """The leader, if there is one, says who gets what."""
        assignments = tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=share) for each, share in self._shares().items()
        )
        self.asks(
            "sync_group", SYNC_VERSION, self._synced, group_id=self.group, generation_id=self.epoch,
            member_id=self.member_id, group_instance_id=self.instance, protocol_type="consumer",
            protocol_name=PROTOCOL, assignments=assignments,
        )  # fmt: skip

    def _synced(self, response: Any) -> None:
        error = response.error_code
        self.world.say(f"{self} syncs <- {error.name}")
        if error is not E.none:
            self._is_refused(error)
            return
        ids = self.world.topic_ids()
        share = assigned_partitions(response.assignment) or {}
        given = {(ids[name], number) for name, numbers in share.items() if name in ids for number in numbers}
        lost = self.owned - given
        self.gives_up(lost)
        self.owned, self.is_out_of_step = given, False
        self.phase = "out" if lost and self.cooperative else "synced"

    def beats(self) -> None:
        self.asks(
            "heartbeat", BEAT_VERSION, self._heard, group_id=self.group, generation_id=self.epoch,
            member_id=self.member_id, group_instance_id=self.instance,
        )  # fmt: skip

    def _heard(self, response: Any) -> None:
        error = response.error_code
        if error is not E.none:
            self.world.say(f"{self} beats <- {error.name}")
            self._is_refused(error)

    def is_refused(self, error: E) -> None:
        self._is_refused(error)

    def _is_refused(self, error: E) -> None:
        if error in ELSEWHERE:
            self.hangs_up()
        elif error is E.rebalance_in_progress:
            self._is_out()
        elif error in GONE:
            self.gives_up(self.owned)
            self.member_id, self.epoch = "", 0
            self._is_out()
        elif error is E.unknown_server_error:
            self._is_out()
        else:
            assert error in (
                E.illegal_generation, E.stale_member_epoch, E.group_id_not_found, E.inconsistent_group_protocol,
                E.group_max_size_reached,
            ), error.name  # fmt: skip
            self.gives_up(self.owned)
            self._is_out()

    def leave(self) -> None:
        if self.member_id and self.asked is None:
            self.gives_up(self.owned)
            who = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)
            self.asks("leave_group", LEAVE_VERSION, lambda _: None, group_id=self.group, members=(who,))
        self.forget()

    # A leader's work

    def _shares(self) -> dict[str, bytes]:
        """Each topic is dealt out; what somebody else still owns is not given to anybody yet."""
        wants = {each.member_id: read_subscription(each.metadata) for each in self.followers}
        holders = {
            (name, number): member_id
            for member_id, wanted in wants.items()
            if wanted is not None
            for name, numbers in wanted.owned_partitions.items()
            for number in numbers
        }
        shares: dict[str, dict[str, tuple[int, ...]]] = {member_id: {} for member_id in wants}
        for name in {topic for wanted in wants.values() if wanted is not None for topic in wanted.topics}:
            takers = sorted(who for who, wanted in wants.items() if wanted is not None and name in wanted.topics)
            for number, who in enumerate(takers):
                dealt = range(number, self.world.partitions_of(name), len(takers))
                shares[who][name] = tuple(each for each in dealt if holders.get((name, each), who) == who)
        return {who: write_assignment(Assignment(version=1, partitions=share)) for who, share in shares.items()}

    def _by_name(self, owned: Owned) -> dict[str, tuple[int, ...]]:
        by_name: dict[str, tuple[int, ...]] = {}
        for topic_id, partition in sorted(owned):
            name = self.world.name_of(topic_id)
            by_name[name] = (*by_name.get(name, ()), partition)
        return by_name
