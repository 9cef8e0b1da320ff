"""Members of the consumer protocol on a broker that is killed: what they were told is so when it is back (KIP-848)."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.consumer_group_heartbeat import TopicPartitions

if TYPE_CHECKING:
    from tests.crash.killing import Wire

Owned = set[tuple[UUID, int]]


class ConsumerMember:
    """One that stays in its group through all restarts, or one that leaves and joins anew all the time."""

    def __init__(self, group: str, member_id: str, topic: str, later: set[E], *, stays: bool) -> None:
        self.group = group
        self.member_id = member_id
        self.topic = topic
        self.stays = stays
        self.epoch = 0
        self.owned: Owned = set()
        self._later = later

    async def runs(self, wire: Wire, random: Random, told: Counter[str]) -> None:
        while True:
            if self.epoch and not self.stays and random.random() < 0.05:
                await self._leaves(wire)
            elif await self._beats(wire):
                told["epochs"] += 1
            await asyncio.sleep(random.uniform(0, 0.01))

    async def _beats(self, wire: Wire, *, full: bool = False) -> bool:
        """Says what it has, and takes what it is told at once. Returns whether it was told.

        `full`: it tells everything, as after a connection that broke.
        """
        fields: dict[str, Any] = {}
        if full or not self.epoch:
            fields = {"rebalance_timeout_ms": 300_000, "subscribed_topic_names": (self.topic,)}
        answer = await self._asks(wire, self.epoch, topic_partitions=_as_request(self.owned), **fields)
        if answer.error_code in self._later:
            await wire.asks("find_coordinator", 1, coordinator_keys=(self.group,), key_type=0)
            return False
        assert answer.error_code is E.none, f"{self.group}: {self.member_id} at {self.epoch}: {answer.error_code.name}"
        assert answer.member_epoch >= self.epoch, f"{self.group}: epoch {answer.member_epoch} after {self.epoch}"
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {(each.topic_id, n) for each in answer.assignment.topic_partitions for n in each.partitions}
        return True

    async def _leaves(self, wire: Wire) -> None:
        self.owned, self.epoch = set(), 0  # whatever comes of it: it joins anew
        answer = await self._asks(wire, -1)
        assert answer.error_code is E.none, f"{self.group}: {self.member_id} leaves: {answer.error_code.name}"

    async def _asks(self, wire: Wire, epoch: int, **fields: Any) -> Any:
        return await wire.asks(
            "consumer_group_heartbeat", 1, group_id=self.group, member_id=self.member_id, member_epoch=epoch, **fields
        )

    async def looks(self, wire: Wire) -> None:
        """It is known at its epoch, or at the one that the broker could not tell it, and has what it was told."""
        if self.epoch:
            assert await self._beats(wire, full=True), f"{self.group} is not coordinated"


async def one_owner_each(wire: Wire, members: list[ConsumerMember]) -> None:
    """Members of a group, as far as they know, and as the broker describes it, have each partition once."""
    for group in {member.group for member in members}:
        told = [at for member in members if member.group == group for at in member.owned]
        assert len(told) == len(set(told)), f"{group}: two owners"
        epochs = [member.epoch for member in members if member.group == group]
        (described,) = (await wire.asks("consumer_group_describe", 1, group_ids=(group,))).groups
        if described.error_code is E.none:
            known = [
                (each.topic_id, n)
                for member in described.members
                for each in member.assignment.topic_partitions
                for n in each.partitions
            ]
            assert len(known) == len(set(known)), f"{group}: two owners"
            assert described.group_epoch >= max(epochs), f"{group}: epoch {described.group_epoch} after {max(epochs)}"
        else:
            assert not any(epochs), f"{group}: {described.error_code.name}"


def _as_request(owned: Owned) -> tuple[TopicPartitions, ...]:
    topics = {topic_id for topic_id, _ in owned}
    return tuple(
        TopicPartitions(topic_id=each, partitions=tuple(sorted(n for topic_id, n in owned if topic_id == each)))
        for each in sorted(topics)
    )
