"""Members of a killed broker: its responses are still true after the restart."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from random import Random

from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.classic_group_member import SYNCED, ClassicMember
from kohort.whatif.clients.consumer_group_member import ConsumerMember
from kohort.whatif.clients.group_member import ELSEWHERE, Said
from tests.support.wires import Waiting

LONG_MS = 300_000


async def says(wire: Waiting, member: ClassicMember | ConsumerMember, said: Said, *allowed: E) -> bool:
    """Send a member's request, and return whether it succeeded; errors in `allowed` are retried."""
    error = await wire.says(said)
    if error in ELSEWHERE:
        await wire.asks("find_coordinator", 1, coordinator_keys=(member.group_id,), key_type=0)
    elif error not in allowed:
        assert error is E.none, f"{member.group_id}: {said.api} {said.fields} <- {error.name}"
    return error is E.none


@dataclass(eq=False, kw_only=True)
class Alone(ClassicMember):
    """The only member of its group, which stays through all restarts or always joins as a new one."""

    stays: bool
    session_ms: int = LONG_MS
    rebalance_ms: int = LONG_MS
    reached: int = -1
    """The last generation in a response."""

    def shares(self) -> dict[str, bytes]:
        return {self.member_id: b"%d of %s" % (self.generation, self.member_id.encode())}

    async def runs(self, wire: Waiting, random: Random, told: Counter[str]) -> None:
        self.is_cut_off()
        while True:
            if self.phase == SYNCED and not self.stays and random.random() < 0.3:
                self.is_out()
            said = self.next()
            # An id is unknown that the broker had given when it died before it was part of a generation.
            allowed = (E.member_id_required, E.unknown_member_id) if said.api == "join_group" else ()
            if await says(wire, self, said, *allowed):
                told[said.api] += 1
                assert self.generation >= self.reached, f"{self.group_id}: {self.generation} < {self.reached}"
                assert self.phase != SYNCED or self.assignment == self.shares()[self.member_id]
                self.reached = self.generation
            await asyncio.sleep(random.uniform(0, 0.01))

    async def looks(self, wire: Waiting) -> None:
        """Check that the group is unchanged if the member has no pending request."""
        if self.phase == SYNCED:
            assert await says(wire, self, self.beat()), f"{self.group_id} is not coordinated"
            (group,) = (await wire.asks("describe_groups", 3, groups=(self.group_id,))).groups
            assert group.group_state == "Stable"
            known = {member.member_id: member.member_assignment for member in group.members}
            assert known == {self.member_id: self.assignment}


@dataclass(eq=False, kw_only=True)
class Together(ConsumerMember):
    """A member that stays in its group through all restarts, or leaves and joins as a new one (KIP-848)."""

    stays: bool
    rebalance_ms: int = LONG_MS

    async def runs(self, wire: Waiting, random: Random, told: Counter[str]) -> None:
        while True:
            if self.epoch and not self.stays and random.random() < 0.05:
                response = self.leave()
                self.forget()  # whatever the outcome, it joins as a new member
                assert await says(wire, self, response), f"{self.group_id} is not coordinated"
            else:
                told["epochs"] += await self._beats(wire)
            await asyncio.sleep(random.uniform(0, 0.01))

    async def _beats(self, wire: Waiting) -> bool:
        old_epoch = self.epoch
        response = await says(wire, self, self.next())
        assert self.epoch >= old_epoch, f"{self.group_id}: epoch {self.epoch} after {old_epoch}"
        return response

    async def looks(self, wire: Waiting) -> None:
        """Check that the group has the member at its epoch or the next one, with its assignment."""
        if self.epoch:
            self.is_full = True
            assert await self._beats(wire), f"{self.group_id} is not coordinated"


async def one_owner_each(wire: Waiting, members: list[Together]) -> None:
    """Check that each partition has one owner, by the members and by the broker."""
    for group in {member.group_id for member in members}:
        told = [at for member in members if member.group_id == group for at in member.told]
        assert len(told) == len(set(told)), f"{group}: two owners"
        epochs = [member.epoch for member in members if member.group_id == group]
        (described,) = (await wire.asks("consumer_group_describe", 1, group_ids=(group,))).groups
        if described.error_code is E.none:
            known = [
                (topic_partition.topic_id, n)
                for member in described.members
                for topic_partition in member.assignment.topic_partitions
                for n in topic_partition.partitions
            ]
            assert len(known) == len(set(known)), f"{group}: two owners"
            assert described.group_epoch >= max(epochs), f"{group}: epoch {described.group_epoch} after {max(epochs)}"
        else:
            assert not any(epochs), f"{group}: {described.error_code.name}"
