"""Members of classic groups on a broker that dies, and what they must never see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.whatif.clients.classic_group_member import SYNCED, ClassicMember
from kohort.whatif.clients.group_member import GroupMember, Said
from tests.crash.truth import MONEY

if TYPE_CHECKING:
    from tests.crash.play import Play

GROUPS = ("orders", "billing")


@dataclass(eq=False)
class Member(ClassicMember):
    """One whose assignments say to whom they were given, and when."""

    protocols: tuple[tuple[str, bytes], ...] = (("range", b""),)
    busy: bool = False

    def shares(self) -> dict[str, bytes]:
        return {follower.member_id: f"{self.generation} {follower.member_id}".encode() for follower in self.followers}


class Consumers:
    """Two members of each group, and one that commits without a group."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.members = [Member(group, group, rebalance_ms=10_000) for group in GROUPS for _ in range(2)]

    def meet(self) -> None:
        """Connect to the next broker; pending requests get no response."""
        for member in self.members:
            if member.busy:
                member.busy = False
                member.is_cut_off()

    def commits(self, member: Member | None = None) -> None:
        self._play.number += 1
        offset, index = self._play.number, self._play.random.randrange(2)
        said = (member or GroupMember("", "simple")).commit(
            MONEY, index, offset, epoch=-1 if member is None else member.generation
        )
        commits, key = self._play.truth.commits, (said.fields["group_id"], index)
        commits.asked(key, offset)

        def answered(response: Any) -> None:
            if self._play.heard(said.hear(response)):
                commits.acknowledged(key, offset)

        self._play.life.asks(said.api, 8, answered, **said.fields)

    def somebody_moves(self) -> None:
        random, member = self._play.random, self._play.random.choice(self.members)
        if member.busy:
            return
        if member.phase == SYNCED:
            if random.random() < 0.03:
                member.is_out()
            elif random.random() < 0.02:
                member.forget()  # it crashes
                return
            elif random.random() < 0.5:
                self.commits(member)
                return
        self._asks(member, member.next())

    def _asks(self, member: Member, said: Said) -> None:
        member.busy = True

        def answered(response: Any) -> None:
            member.busy = False
            if self._play.heard(said.hear(response)):
                self._look(member)

        self._play.life.asks(said.api, 3, answered, **said.fields)

    def _look(self, member: Member) -> None:
        """Check that the last known state is still true."""
        truth, generation = self._play.truth, member.generation
        assert generation >= truth.generations.get(member.group_id, 0), "a generation goes back"
        if member.assignment is not None:
            truth.generations[member.group_id] = generation
            truth.assignments[member.group_id, generation, member.member_id] = member.assignment
