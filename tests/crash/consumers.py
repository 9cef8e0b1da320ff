"""Members of groups, as their coordinator sees them, and what they must never see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from tests.crash.truth import MONEY

if TYPE_CHECKING:
    from tests.crash.play import Play

GROUPS = ("orders", "billing")


class Member:
    """A consumer, as far as its coordinator sees it."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.member_id = ""
        self.generation = -1
        self.members: tuple[str, ...] = ()
        """Of the whole group, if it leads it."""
        self.synced = False
        self.busy = False

    def forget(self) -> None:
        self.member_id, self.generation, self.members, self.synced = "", -1, (), False


class Consumers:
    """Two members of each group, and one that commits without a group."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.members = [Member(group) for group in GROUPS for _ in range(2)]

    def meet(self) -> None:
        """There is another broker: whatever was asked of the one before is never answered."""
        for member in self.members:
            member.busy = False

    def commits(self, member: Member | None = None) -> None:
        self._play.number += 1
        offset = self._play.number
        group, index = "simple" if member is None else member.group, self._play.random.randrange(2)
        commits = self._play.truth.commits
        identity = {} if member is None else {"generation_id_or_member_epoch": member.generation}
        asked = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        commits.asked((group, index), offset)

        def answered(response: Any) -> None:
            if self._play.heard(response.topics[0].partitions[0].error_code):
                commits.acknowledged((group, index), offset)

        self._play.life.asks(
            "offset_commit", 8, answered, group_id=group, member_id="" if member is None else member.member_id,
            topics=(OffsetCommitRequestTopic(name=MONEY, partitions=(asked,)),), **identity,
        )  # fmt: skip

    def somebody_moves(self) -> None:
        member = self._play.random.choice(self.members)
        if member.busy:
            return
        if member.generation < 0 or self._play.random.random() < 0.03:
            self._joins(member)
        elif not member.synced:
            self._syncs(member)
        elif self._play.random.random() < 0.02:
            member.forget()  # it crashes
        elif self._play.random.random() < 0.5:
            self.commits(member)
        else:
            self._beats(member)

    def _joins(self, member: Member) -> None:
        member.busy, member.synced = True, False

        def answered(response: Any) -> None:
            member.busy = False
            if self._play.heard(response.error_code):
                assert response.generation_id >= self._play.truth.generations.get(member.group, 0), (
                    "a generation goes back"
                )
                member.member_id, member.generation = response.member_id, response.generation_id
                member.members = tuple(each.member_id for each in response.members)
            else:
                member.forget()

        self._play.life.asks(
            "join_group", 3, answered, group_id=member.group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
            member_id=member.member_id, protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
        )  # fmt: skip

    def _syncs(self, member: Member) -> None:
        member.busy = True
        generation, member_id = member.generation, member.member_id
        assignments = tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=f"{generation} {each}".encode())
            for each in member.members
        )

        def answered(response: Any) -> None:
            member.busy = False
            if self._play.heard(response.error_code):
                member.synced = True
                known = self._play.truth.generations
                assert generation >= known.get(member.group, 0), "a generation goes back"
                known[member.group] = generation
                self._play.truth.assignments[member.group, generation, member_id] = response.assignment
            elif response.error_code is E.rebalance_in_progress:
                member.generation = -1
            else:
                member.forget()

        self._play.life.asks(
            "sync_group", 3, answered, group_id=member.group, generation_id=generation, member_id=member.member_id,
            assignments=assignments,
        )  # fmt: skip

    def _beats(self, member: Member) -> None:
        def answered(response: Any) -> None:
            self._play.heard(response.error_code)
            if response.error_code is E.rebalance_in_progress:
                member.generation = -1
            elif response.error_code is not E.none:
                member.forget()

        self._play.life.asks(
            "heartbeat", 3, answered, group_id=member.group, generation_id=member.generation,
            member_id=member.member_id,
        )  # fmt: skip
