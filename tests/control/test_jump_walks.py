"""The clock jumps repeatedly while random members join, rejoin, disconnect and stay silent.

No live member is removed, whatever happens during a jump; silent members are removed. A member acts only while the jump
allows it: between its steps and in its halts.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random

import pytest

from kohort.control.clock.jump import jump
from kohort.protocol.errors import ErrorCode as E
from kohort.proxy.talk.talk_connection import TalkConnection
from kohort.whatif.clients.classic_group_member import SYNCED, ClassicMember
from kohort.whatif.clients.group_member import JOINING, Said
from tests.control.talking import Lab
from tests.support.frames import frame, message
from tests.support.seeds import SEEDS

GROUP = "walkers"
JUMPS = 4
LONGEST_MS = 120_000  # the longest session, and the longest rebalance


@dataclass(eq=False, kw_only=True)
class Walker(ClassicMember):
    """A member of the classic group, as clients are: one request at a time, and the next when it is answered."""

    line: TalkConnection
    version: int  # of JoinGroup
    asked: Said | None = None
    removals: int = 0  # number of times it has received UNKNOWN_MEMBER_ID

    @property
    def is_in(self) -> bool:
        return self.phase == SYNCED

    def acts(self) -> None:
        """Read responses, or send the next request."""
        if self.line.frames:
            assert self.asked is not None
            said, self.asked = self.asked, None
            answer = message(said.api).read_response(self._version(said), self.line.frames.popleft()[1])[1]
            error = said.hear(answer)
            assert error in (*JOINING, E.unknown_member_id, E.rebalance_in_progress, E.illegal_generation), error
            self.removals += error is E.unknown_member_id
        elif self.asked is None:
            self.asked = self.next()
            self.line.send_bytes(
                frame(self.asked.api, self._version(self.asked), client_id=self.name, **self.asked.fields)
            )

    def _version(self, said: Said) -> int:
        return self.version if said.api == "join_group" else 2


class Walk:
    """Some members, some of whom fall silent for ever."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab, self.random = lab, Random(seed)
        self.living: list[Walker] = []
        self.silent: list[Walker] = []
        self.stays = False  # whether members do not join or fall silent any more
        self.comes()

    def comes(self) -> None:
        name, random = f"walker-{len(self.living) + len(self.silent)}", self.random
        walker = Walker(
            name=name, group_id=GROUP, line=self.lab.line(name), version=random.choice((1, 2, 3, 4, 5, 9)),
            session_ms=random.choice((6_000, 30_000, 60_000)), rebalance_ms=random.choice((1_000, 60_000)),
        )  # fmt: skip
        self.living.append(walker)

    def goes_on(self) -> None:
        """Let a moment of real time pass."""
        self.random.choice(self.living).acts()
        if self.stays:
            return
        if self.random.random() < 0.01 and len(self.living) + len(self.silent) < 12:
            self.comes()
        if self.random.random() < 0.005 and len(self.living) > 1:
            self.falls_silent()

    def falls_silent(self) -> None:
        gone = self.living.pop(self.random.randrange(len(self.living)))
        self.silent.append(gone)
        if self.random.random() < 0.5:
            gone.line.close()
            self.lab.settle()
        else:
            self.lab.faults.freeze(group=GROUP, member=gone.name)

    async def jumps(self, length_ms: int) -> None:
        jumping = asyncio.create_task(jump(self.lab.laboratory, length_ms))
        while not jumping.done():
            self.goes_on()
            await asyncio.sleep(0)
        assert jumping.result() == [], "a live member was removed"

    def settles(self) -> None:
        for _ in range(100):
            were_in = all(member.is_in for member in self.living)
            for member in self.living:
                member.acts()  # sends a request
                member.acts()  # receives the response, if it is immediate
            if were_in and all(member.is_in for member in self.living):
                return
        raise AssertionError("the group is never stable")


@pytest.mark.parametrize("seed", SEEDS)
async def test_jump_expires_only_silent_members(seed: int, lab: Lab) -> None:
    walk = Walk(lab, seed)
    for _ in range(JUMPS):
        for _ in range(walk.random.randrange(60)):
            walk.goes_on()
        before_ms, length_ms = lab.clock.now_ms(), walk.random.randrange(4 * LONGEST_MS)
        await walk.jumps(length_ms)
        assert lab.clock.now_ms() == before_ms + length_ms
        assert [member.name for member in walk.living if member.removals] == [], f"KOHORT_SEED={seed}"
    walk.stays = True
    await walk.jumps(3 * LONGEST_MS)
    walk.settles()
    group = lab.laboratory.find(GROUP)
    assert group is not None
    assert {member.client_id for member in group.members.values()} == {member.name for member in walk.living}
