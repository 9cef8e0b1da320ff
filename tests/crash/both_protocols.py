"""Members of the consumer protocol (KIP-848), and of both protocols in one group, on a broker that dies.

They are the clients of the simulation (`tests/simulation`). Here they outlive the broker, and keep its responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.values import CurrentAssignment
from kohort.protocol.errors import ErrorCode as E
from tests.crash.truth import MONEY
from tests.simulation.consuming_promises import nobody_consumes_what_another_one_does
from tests.simulation.member import Member, SimulatedClassic, SimulatedConsumer
from tests.support.broker import Client
from tests.support.consumer_groups import one_owner_each

if TYPE_CHECKING:
    from tests.crash.life import Life
    from tests.crash.play import Play

NAMES = {"modern": ("static", "modern", "modern"), "mixed": ("modern", "eager", "cooperative", "static")}
"""By group, the kinds of its members at first."""


class BothProtocols:
    """The members, and what holds for them whenever the broker is back."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.random = play.random
        self.was_consumer: dict[str, bool] = {}
        self.epochs: dict[str, int] = {}
        """Highest epoch that a member received, by group."""
        self._last: dict[str, tuple[int, bool]] = {}
        """Epoch at the last check and whether the group was empty, by group."""
        self._asked_before: set[Member] = set()
        """Members with a pending request to a group that has since been created again."""
        self._told_before: dict[Member, tuple[str, int]] = {}
        """Epochs of that group's members, which may join again once they know that it is gone."""
        self._names: dict[UUID, str] = {}
        self._started = 0
        self._known: dict[tuple[str, str], CurrentAssignment] = {}
        """By group and member id: what the broker that died knew of a member that waited for no answer."""
        self.members = [self._new(group, kind) for group, kinds in NAMES.items() for kind in kinds]

    def _new(self, group: str, kind: str, instance: str | None = None) -> Member:
        self._started += 1
        name = f"m{self._started}"
        if kind in ("eager", "cooperative"):
            return SimulatedClassic(
                world=self, name=name, group_id=group, instance=instance, names=(MONEY,),
                cooperative=kind == "cooperative", rebalance_ms=5_000,
            )  # fmt: skip
        instance = instance or (f"i{self._started}" if kind == "static" else None)
        return SimulatedConsumer(
            world=self, name=name, group_id=group, instance=instance, names=(MONEY,), rebalance_ms=5_000,
            gets_id=self.random.random() < 1 / 3,
        )  # fmt: skip

    # What happens

    def meet(self, died: Life | None) -> None:
        """Connect to the next broker; pending requests get no response."""
        for topic in self._play.life.cluster.topics:
            self._names[topic.topic_id] = topic.name
        if died is not None:
            self._remember(died)
        for member in self.members:
            if member.asked is not None:
                member.hangs_up()
                member.is_cut_off()
            member.hangs_up()
            member.is_answered_at_once = False

    def somebody_acts(self) -> None:
        """Perform a member's next action, or a failure."""
        self._known.clear()
        self._listen()
        number = self.random.randrange(len(self.members))
        member = self.members[number]
        if member.asked is None:
            old_state = _as_told(member)
            what = self.random.choices(("acts", "leaves", "crashes", "steps out", "swaps"), (93, 2, 2, 2, 2))[0]
            if what == "acts" or self._play.life.cluster.topics.by_name(MONEY) is None:
                member.act()
            elif what == "leaves":
                member.leaves()
            elif what == "crashes":
                member.forget()
            elif what == "steps out" and isinstance(member, SimulatedConsumer):
                member.steps_out()
            elif what == "swaps":
                member.forget()
                kind = (
                    "modern" if isinstance(member, SimulatedClassic) else self.random.choice(("eager", "cooperative"))
                )
                member = self.members[number] = self._new(member.group_id, kind, member.instance)
            self._heard(member, old_state)
        self._listen()

    def _listen(self) -> None:
        for member in self.members:
            old_state = _as_told(member)
            member.listens()
            self._heard(member, old_state)
        self._judge()

    def _judge(self) -> None:
        """Check the invariants, unless the disk has lost unsynced data."""
        if not self._play.was_promised_something:
            return
        for group_id in NAMES:
            if self._began_anew(group_id):
                self.epochs[group_id] = 0
                of_the_group = [member for member in self.members if member.group_id == group_id]
                self._asked_before |= {each for each in of_the_group if each.asked}
                self._told_before.update((each, _as_told(each)) for each in of_the_group)
            self._last[group_id] = self._epoch_of(group_id), self._is_empty(group_id)
        nobody_consumes_what_another_one_does(self)
        one_owner_each(self._play.life.cluster.nodes[0].coordinator)

    def _began_anew(self, group_id: str) -> bool:
        """Return whether an empty group has changed its protocol since the last check."""
        epoch, was_empty = self._last.get(group_id, (0, False))
        return was_empty and self._epoch_of(group_id) < epoch

    def _heard(self, member: Member, before: tuple[str, int]) -> None:
        """Record that a member may have received another epoch than `before`."""
        member_id, epoch = now = _as_told(member)
        of_the_group_before = member in self._asked_before
        if member.asked is None:
            self._asked_before.discard(member)
        if now == before or epoch <= 0 or of_the_group_before:
            return
        group_before = before == self._told_before.get(member) or self._began_anew(member.group_id)
        if member_id == before[0] and not group_before:
            assert epoch >= before[1], f"{member} was at {before[1]}"
        self.epochs[member.group_id] = max(self.epochs.get(member.group_id, 0), epoch)

    # What the broker must know when it is back

    def _remember(self, died: Life) -> None:
        """Record the groups, except members with pending requests and groups with failed writes."""
        self._known.clear()
        if died.cluster.broken is not None or "clients get a storage error" in died.log.getvalue():
            return
        coordinator = died.cluster.nodes[0].coordinator
        for member in self.members:
            group = coordinator.consumer_group(member.group_id)
            known = None if group is None else group.members.get(member.member_id)
            if known is not None and member.asked is None and known.current.epoch == _as_told(member)[1] > 0:
                self._known[member.group_id, member.member_id] = known.current

    def looks(self) -> None:
        """Check that the broker's state equals the members' last responses."""
        self._judge()
        for group_id, epoch in self.epochs.items():
            now = self._epoch_of(group_id)
            assert now >= epoch, f"{group_id}: epoch {now} after {epoch}"
        for (group_id, member_id), current in self._known.items():
            group, classic = self.consumer_group(group_id), self.classic_group(group_id)
            if group is not None:
                assert member_id in group.members, f"{group_id}: {member_id} is gone"
                assert group.members[member_id].current == current, f"{group_id}: {member_id} is not where it was"
            else:
                assert classic is not None
                assert member_id in classic.members, f"{group_id}: {member_id} is gone"
        self._known.clear()  # from now on time passes, and members may be given up

    def _epoch_of(self, group_id: str) -> int:
        """Return the epoch of the group now, or 0 without one."""
        group, classic = self.consumer_group(group_id), self.classic_group(group_id)
        if group is not None:
            return group.epoch
        return 0 if classic is None else classic.generation_id

    def _is_empty(self, group_id: str) -> bool:
        group = self.consumer_group(group_id) or self.classic_group(group_id)
        return group is not None and not group.members

    # What members ask of their world

    def reaches(self, group: str) -> Client | None:
        return self._play.life.client()

    def now_ms(self) -> int:
        return self._play.life.clock.now_ms()

    def say(self, line: str) -> None:
        pass

    def name_of(self, topic_id: UUID) -> str:
        self.topic_ids()
        return self._names[topic_id]

    def topic_ids(self) -> dict[str, UUID]:
        found = {topic.name: topic.topic_id for topic in self._play.life.cluster.topics}
        self._names.update({topic_id: name for name, topic_id in found.items()})
        return found

    def partitions_of(self, name: str) -> int:
        topic = self._play.life.cluster.topics.by_name(name)
        return 0 if topic is None else len(topic.partitions)

    def commits(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        self._play.truth.commits.asked((member.group_id, at[1]), offset)

    def committed(self, member: Member, at: tuple[UUID, int], offset: int, epoch: int) -> None:
        self._play.truth.commits.acknowledged((member.group_id, at[1]), offset)
        self._play.heard(E.none)

    def fetched(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        """Record a committed offset, which is checked when the broker is back."""

    # required by the promise

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        return self._play.life.cluster.nodes[0].coordinator.consumer_group(group_id)

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        return self._play.life.cluster.nodes[0].coordinator.classic_group(group_id)


def _as_told(member: Member) -> tuple[str, int]:
    """Return id and epoch of a member; a classic generation counts once the member has synced."""
    counts = not isinstance(member, SimulatedClassic) or member.phase == "synced"
    return member.member_id, member.epoch if counts else 0
