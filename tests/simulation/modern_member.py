"""A member that speaks the consumer protocol (KIP-848), careless in all ways a client can be."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.consumer_group_heartbeat import TopicPartitions
from tests.simulation.member import ELSEWHERE, Member, MemberWorld, Owned

LOST = (E.fenced_member_epoch, E.unknown_member_id, E.group_id_not_found)
"""It has lost everything, and joins again."""
REPLACED = (E.unreleased_instance_id, E.fenced_instance_id)
REFUSED_LIES = (*LOST, *REPLACED, *ELSEWHERE, E.group_max_size_reached, E.unknown_server_error)


class ModernMember(Member):
    """See above."""

    def __init__(
        self,
        world: MemberWorld,
        name: str,
        group: str,
        instance: str | None,
        names: tuple[str, ...],
        *,
        regex: str | None = None,
        version: int = 1,
        assignor: str | None = None,
        rebalance_ms: int = 5_000,
    ) -> None:
        super().__init__(world, name, group, instance, names)
        self.regex = regex
        self.version = version
        self.assignor = assignor
        self.rebalance_ms = rebalance_ms
        self.assigned: Owned = set()
        """What it was last told to have."""
        self.is_full = True
        """Whether its next heartbeat tells everything."""
        self.holds_on_until_ms = 0
        self._new_process()

    def _new_process(self) -> None:
        self.member_id = f"{self.name}-{self.world.random.randrange(10**6)}" if self.version >= 1 else ""

    def forget(self) -> None:
        super().forget()
        self.assigned, self.is_full = set(), True
        self._new_process()

    def is_cut_off(self) -> None:
        """It does not know what has become of its last request: the next one tells everything."""
        self.is_full = True
        if not self.epoch and self.version == 0:
            self._new_process()

    def act(self) -> None:
        gone, random = self.owned - self.assigned, self.world.random
        if gone and self.world.now_ms() >= self.holds_on_until_ms:
            known = sorted(gone & self.positions.keys())
            if known and random.random() < 0.5:
                self.commits(known[0])
                if self.asked is not None:
                    return
            self.gives_up(gone)
            self.beats(tells_owned=True)
        elif self.epoch > 0 and self.assigned - self.owned and not gone:
            self.owned = set(self.assigned)
            self.beats(tells_owned=True)
        elif self.epoch <= 0 or random.random() < 0.5 or not self.fetches_or_commits():
            self.beats()

    def beats(self, *, tells_owned: bool = False) -> None:
        """A heartbeat: joins, tells everything, or tells what has changed."""
        full = self.is_full or not self.epoch
        fields: dict[str, Any] = {"group_id": self.group, "member_id": self.member_id, "member_epoch": self.epoch}
        fields["instance_id"] = self.instance
        if full:
            fields |= {"rebalance_timeout_ms": self.rebalance_ms, "subscribed_topic_names": self.names}
            fields |= {"server_assignor": self.assignor}
            if self.version >= 1:
                fields["subscribed_topic_regex"] = self.regex
        if full or tells_owned:
            fields["topic_partitions"] = _as_request(self.owned)
        self.asks("consumer_group_heartbeat", self.version, self._heard, **fields)

    def _heard(self, response: Any) -> None:
        error = response.error_code
        self.world.say(f"{self} <- {error.name} {response.member_epoch}{_told(response)}")
        if error is E.none:
            self.member_id, self.epoch, self.is_full = response.member_id, response.member_epoch, False
            if response.assignment is not None:
                self.assigned = _assignment(response)
                if self.owned - self.assigned:
                    self._may_hold_on()
            return
        self.is_full = True
        if error in LOST:
            self._loses_everything()
        elif error in REPLACED:
            self.forget()
        elif error in ELSEWHERE:
            self.hangs_up()
        else:
            assert error in (E.unknown_server_error, E.group_max_size_reached), error.name

    def _may_hold_on(self) -> None:
        """Now and then it takes its time to give partitions up, and now and then too much of it."""
        random = self.world.random
        if random.random() < 0.3:
            self.holds_on_until_ms = self.world.now_ms() + random.choice((500, 2_000, 8_000))

    def _loses_everything(self) -> None:
        self.epoch, self.assigned = 0, set()
        self.gives_up(self.owned)
        if self.version == 0:
            self.member_id = ""

    def is_refused(self, error: E) -> None:
        """With a stale epoch it waits for the next heartbeat."""
        if error in (E.unknown_member_id, E.group_id_not_found, E.illegal_generation):
            self.is_full = True
            self._loses_everything()
        else:
            assert error in (E.stale_member_epoch, E.unsupported_version), error.name

    # What goes wrong

    def leave(self) -> None:
        self._goes(-1)

    def step_out(self) -> None:
        """A static member goes, and wants to come back."""
        self._goes(-2 if self.instance is not None else -1)

    def _goes(self, epoch: int) -> None:
        if self.epoch > 0 and self.asked is None:
            fields = {"group_id": self.group, "member_id": self.member_id, "member_epoch": epoch}
            self.gives_up(self.owned)
            self.asks("consumer_group_heartbeat", self.version, lambda _: None, instance_id=self.instance, **fields)
        self.forget()

    def lies(self, by: int) -> None:
        """Names an epoch of the past or the future, in a heartbeat and in a commit."""
        epoch = self.epoch + by
        if self.epoch <= 0 or epoch <= 0 or self.asked is not None:
            return
        if self.positions and self.world.random.random() < 0.5:
            self.commits(self.world.random.choice(sorted(self.positions)), epoch=epoch)
            return

        def heard(response: Any) -> None:
            error = response.error_code
            self.world.say(f"{self} says it is at {epoch} <- {error.name}")
            self.is_full = True
            if error is not E.none:
                assert error in REFUSED_LIES, error.name

        fields = {"group_id": self.group, "member_id": self.member_id, "instance_id": self.instance}
        self.asks("consumer_group_heartbeat", self.version, heard, member_epoch=epoch, **fields)

    def subscribe(self, names: tuple[str, ...]) -> None:
        """Other topics, from the next heartbeat on."""
        self.names, self.is_full = names, True


def _as_request(owned: Owned) -> tuple[TopicPartitions, ...]:
    by_topic: dict[UUID, list[int]] = {}
    for topic_id, partition in sorted(owned):
        by_topic.setdefault(topic_id, []).append(partition)
    return tuple(TopicPartitions(topic_id=each, partitions=tuple(by_topic[each])) for each in by_topic)


def _assignment(response: Any) -> Owned:
    return {(each.topic_id, number) for each in response.assignment.topic_partitions for number in each.partitions}


def _told(response: Any) -> str:
    return "" if response.assignment is None else f", has {len(_assignment(response))}"
