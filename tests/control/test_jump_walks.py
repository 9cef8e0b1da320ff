"""The clock jumps, again and again, beside members that join, rejoin, hang up and stay silent, as chance has it.

Nobody who lives is removed, whatever a jump meets on its way; everybody who is silent is. A member acts only while the
jump lets it: between its steps and in its halts.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from kohort.control.jump import jump
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from tests.control.talking import Lab
from tests.support.frames import frame, message
from tests.support.seeds import SEEDS

GROUP = "walkers"
JUMPS = 4
LONGEST_MS = 120_000
"""The longest session, and the longest rebalance."""


class Walker:
    """A member of the classic group, as clients are: one request at a time, and the next when it is answered."""

    def __init__(self, lab: Lab, random: Random, name: str) -> None:
        self.lab, self.name = lab, name
        self.line = lab.line(name)
        self.version = random.choice((1, 2, 3, 4, 5, 9))
        self.session_ms, self.rebalance_ms = random.choice((6_000, 30_000, 60_000)), random.choice((1_000, 60_000))
        self.member_id, self.generation = "", -1
        self.asked: tuple[str, int] | None = None
        self.next = self.joins
        self.removals = 0
        """How often it has heard that it is no member any more."""

    @property
    def is_in(self) -> bool:
        return self.next == self.beats

    def acts(self) -> None:
        """Hears what has come, or asks for what comes next."""
        if self.line.frames:
            assert self.asked is not None
            name, version = self.asked
            self.asked = None
            self.hears(name, message(name).read_response(version, self.line.frames.popleft()[1])[1])
        elif self.asked is None:
            self.next()

    def asks(self, name: str, version: int, **fields: Any) -> None:
        self.asked = name, version
        self.line.say(frame(name, version, client_id=self.name, **fields))

    def joins(self) -> None:
        self.asks(
            "join_group", self.version, group_id=GROUP, session_timeout_ms=self.session_ms, member_id=self.member_id,
            rebalance_timeout_ms=self.rebalance_ms, protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
        )  # fmt: skip

    def syncs(self) -> None:
        given = tuple(SyncGroupRequestAssignment(member_id=each, assignment=b"x") for each in self.members)
        self.asks(
            "sync_group", 2, group_id=GROUP, generation_id=self.generation, member_id=self.member_id, assignments=given
        )

    def beats(self) -> None:
        self.asks("heartbeat", 2, group_id=GROUP, generation_id=self.generation, member_id=self.member_id)

    def hears(self, name: str, answer: Any) -> None:
        error = answer.error_code
        if error is E.unknown_member_id:
            self.removals += 1
            self.member_id, self.next = "", self.joins
        elif error is E.member_id_required:
            self.member_id = answer.member_id
        elif error in (E.rebalance_in_progress, E.illegal_generation):
            self.next = self.joins
        elif error is not E.none:
            assert error in (E.not_coordinator, E.coordinator_not_available, E.coordinator_load_in_progress), error
        elif name == "join_group":
            self.member_id, self.generation, self.next = answer.member_id, answer.generation_id, self.syncs
            self.members = [each.member_id for each in answer.members]
        elif name == "sync_group":
            self.next = self.beats


class Walk:
    """Some members, some of whom fall silent for ever."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab, self.random = lab, Random(seed)
        self.living: list[Walker] = []
        self.silent: list[Walker] = []
        self.stays = False
        """Whether nobody comes or falls silent any more."""
        self.comes()

    def comes(self) -> None:
        self.living.append(Walker(self.lab, self.random, f"walker-{len(self.living) + len(self.silent)}"))

    def goes_on(self) -> None:
        """A moment of real time."""
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
            gone.line.hang_up()
        else:
            self.lab.faults.freeze(group=GROUP, member=gone.name)

    async def jumps(self, length_ms: int) -> None:
        jumping = asyncio.create_task(jump(self.lab.laboratory, length_ms))
        while not jumping.done():
            self.goes_on()
            await asyncio.sleep(0)
        assert jumping.result() == [], "somebody was left behind"

    def settles(self) -> None:
        for _ in range(100):
            were_in = all(each.is_in for each in self.living)
            for each in self.living:
                each.acts()  # asks
                each.acts()  # hears, if it is answered at once
            if were_in and all(each.is_in for each in self.living):
                return
        raise AssertionError("the group is never stable")


@pytest.mark.parametrize("seed", SEEDS)
async def test_nobody_who_lives_is_removed_by_a_jump_and_who_is_silent_is(seed: int, lab: Lab) -> None:
    walk = Walk(lab, seed)
    for _ in range(JUMPS):
        for _ in range(walk.random.randrange(60)):
            walk.goes_on()
        before_ms, length_ms = lab.clock.now_ms(), walk.random.randrange(4 * LONGEST_MS)
        await walk.jumps(length_ms)
        assert lab.clock.now_ms() == before_ms + length_ms
        assert [each.name for each in walk.living if each.removals] == [], f"KOHORT_SEED={seed}"
    walk.stays = True
    await walk.jumps(3 * LONGEST_MS)
    walk.settles()
    group = lab.laboratory.group(GROUP)
    assert group is not None
    assert {each.client_id for each in group.members.values()} == {each.name for each in walk.living}
