"""Share group members of a killed broker: its responses about records are still true afterwards.

A kill ends every lock. Records whose acceptance or rejection succeeded are never redelivered. A delivery count is
at most one more than the last that a member saw, and at least one more than the last that was written down.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kohort.coordinator.share_partitions.record_states import ACCEPT, REJECT, RELEASE
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequestGroup
from kohort.protocol.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from kohort.whatif.clients.group_member import ELSEWHERE, Owned, Said
from tests.support.share_consumer import SHARE_VERSIONS, At, ShareConsumer, Words, delivered, outcomes
from tests.support.wires import TIMEOUT_S, Waiting

GROUP = "queue"
LEADER = 1
LIMIT = 10
CONFIGS = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(LIMIT)}
GROUP_CONFIG = 32
"""The type of resource that a group is, where settings are altered."""
KEPT = 0.2
"""Part of the acquired records that a member does not acknowledge before the kill."""
MOST_EMPTY = 20
"""This many empty fetches in a row show that no records remain."""


@dataclass
class SharedPartition:
    """What members know of the records of one partition. Offsets below the start are done with, and forgotten here."""

    start: int = 0
    """The last that was seen."""
    done: set[int] = field(default_factory=set)
    """Accepted or rejected, and answered."""
    perhaps: set[int] = field(default_factory=set)
    """Offsets with a pending request to process them."""
    seen: dict[int, int] = field(default_factory=dict)
    """Delivery count in the last response, by offset."""
    written: dict[int, int] = field(default_factory=dict)
    """With which count each was released, and answered."""
    held: dict[int, str] = field(default_factory=dict)
    """Who has each, and has said nothing of it."""

    def given(self, member: str, offset: int, count: int) -> None:
        """Record that a member acquired a record."""
        assert offset >= self.start, f"{offset} is given to {member}, and the start was at {self.start}"
        assert offset not in self.done, f"{offset} is done with, and is given to {member} for the {count}. time"
        assert offset not in self.held, f"{offset} is given to {member}, and {self.held[offset]} has it"
        least, most = self.written.get(offset, 0) + 1, self.seen.get(offset, 0) + 1
        assert least <= count <= most, f"{offset}: delivered {count} times, not {least} to {most}"
        assert count <= LIMIT, f"{offset}: delivered {count} times"
        self.seen[offset] = count
        self.held[offset] = member

    def says(self, kinds: dict[int, int]) -> None:
        """Record an acknowledgement, which may be written even without a response."""
        self.perhaps |= {offset for offset, kind in kinds.items() if kind != RELEASE}
        for offset in kinds:
            del self.held[offset]

    def written_down(self, kinds: dict[int, int], counts: dict[int, int]) -> None:
        """Record a successful acknowledgement. `counts` has the delivery counts at that time."""
        self.done |= {offset for offset, kind in kinds.items() if kind != RELEASE}
        for offset, kind in kinds.items():
            if kind == RELEASE:
                self.written[offset] = counts[offset]

    def starts_at(self, start: int) -> None:
        """Record the start offset of the share partition: all records below are processed."""
        assert start >= self.start, f"the start went back from {self.start} to {start}"
        skipped = [offset for offset in range(self.start, start) if not self.may_be_passed(offset)]
        assert not skipped, f"{skipped[:10]} of {len(skipped)} are below the start {start} but unprocessed"
        self.start = start
        self.done = {offset for offset in self.done if offset >= start}
        self.perhaps = {offset for offset in self.perhaps if offset >= start}
        self.seen = {offset: count for offset, count in self.seen.items() if offset >= start}
        self.written = {offset: count for offset, count in self.written.items() if offset >= start}

    def may_be_passed(self, offset: int) -> bool:
        """Return whether a record need not be delivered again."""
        return offset < self.start or offset in self.perhaps or self.seen.get(offset, 0) >= LIMIT


class Queue:
    """The group: what all members know together."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.partitions: defaultdict[int, SharedPartition] = defaultdict(SharedPartition)
        self.members = [Sharer(name=f"sharer-{n}", names=(topic,), queue=self) for n in range(3)]

    async def prepared(self, wire: Waiting) -> None:
        configs = tuple(AlterableConfig(name=name, config_operation=0, value=value) for name, value in CONFIGS.items())
        resource = AlterConfigsResource(resource_type=GROUP_CONFIG, resource_name=GROUP, configs=configs)
        answer = await wire.asks("incremental_alter_configs", 1, resources=(resource,), validate_only=False)
        assert answer.responses[0].error_code is E.none

    async def looks(self, wire: Waiting) -> None:
        """Check after a kill that all locks have ended, and that starts moved only past processed records."""
        for part in self.partitions.values():
            part.held.clear()
        for member in self.members:
            await member.looks(wire)
        groups = (DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None),)
        while True:
            (group,) = (await wire.asks("describe_share_group_offsets", 1, groups=groups)).groups
            partition_errors = {partition.error_code for topic in group.topics for partition in topic.partitions}
            if E.coordinator_load_in_progress not in partition_errors:
                break  # the states have been loaded
            await asyncio.sleep(0.01)
        if group.error_code is E.group_id_not_found and not any(member.epoch for member in self.members):
            return  # no client knows that it exists
        assert group.error_code is E.none, group.error_code.name
        for topic in group.topics:
            for partition in topic.partitions:
                assert partition.error_code is E.none, f"{partition.partition_index}: {partition.error_code.name}"
                if partition.start_offset >= 0:
                    self.partitions[partition.partition_index].starts_at(partition.start_offset)

    async def nothing_is_lost(self, wire: Waiting, ends: list[int], told: Counter[str]) -> None:
        """Accept all remaining records, and check that all are processed. `ends` has the log ends in order."""
        everything = await self._all_that_is_assigned(wire, len(ends))
        member, empty = self.members[0], 0
        while empty < MOST_EMPTY:
            member.owned = everything
            before = told["deliveries"]
            await member.fetches(wire, told, max_wait_ms=50, max_records=2_000)
            await member.says_something(wire, told, {at: dict.fromkeys(has, ACCEPT) for at, has in member.has.items()})
            empty = 0 if told["deliveries"] > before else empty + 1
        for index, end in enumerate(ends):
            part = self.partitions[index]
            lost = [offset for offset in range(part.start, end) if not part.may_be_passed(offset)]
            assert not lost, f"{self.topic}-{index}: {lost[:10]} of {len(lost)} are lost"

    async def _all_that_is_assigned(self, wire: Waiting, count: int) -> Owned:
        """Return all assigned partitions once every partition is assigned."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                for member in self.members:
                    await member.beats(wire)
                found = {at for member in self.members for at in member.owned}
                if len(found) == count:
                    return found
                await asyncio.sleep(0.05)


@dataclass(eq=False, kw_only=True)
class Sharer(ShareConsumer):
    """One member, which outlives the broker."""

    queue: Queue
    group_id: str = GROUP
    member_id: str = ""
    has: dict[At, set[int]] = field(default_factory=dict)
    """What it has and has said nothing of."""

    def __post_init__(self) -> None:
        self.member_id = self.name

    async def runs(self, wire: Waiting, random: Random, told: Counter[str]) -> None:
        """Fetch, and acknowledge a part of the acquired records."""
        self.is_cut_off(LEADER)
        self.has = {}
        while True:
            if not self.owned or random.random() < 0.1:
                await self.beats(wire)
            if self.owned:
                most, mode = random.choice((1, 10, 500)), random.choice((0, 1))
                words = _words(self.has, random) if random.random() < 0.5 else {}
                await self.fetches(wire, told, words, max_wait_ms=20, max_records=most, share_acquire_mode=mode)
                await self.says_something(wire, told, _words(self.has, random))
            await asyncio.sleep(random.uniform(0, 0.01))

    async def looks(self, wire: Waiting) -> None:
        """Check that the group has the member at its epoch or the next one."""
        self.is_cut_off(LEADER)
        self.has = {}
        if self.epoch:
            assert await self.beats(wire), f"{GROUP} is not coordinated"

    async def beats(self, wire: Waiting) -> bool:
        """Send a heartbeat, and return whether the coordinator responded."""
        old_epoch = self.epoch
        error = self.beat().hear(await self._asks(wire, self.beat()))
        if error in ELSEWHERE:
            await wire.asks("find_coordinator", 1, coordinator_keys=(GROUP,), key_type=0)
            return False
        assert error is E.none, f"{self.name}: {error.name}"
        assert self.epoch >= old_epoch, f"{self.name}: epoch {self.epoch} after {old_epoch}"
        return True

    async def fetches(self, wire: Waiting, told: Counter[str], words: Words | None = None, **limits: int) -> None:
        """Fetch records, with acknowledgements if there is a session."""
        has_session = bool(self.sessions.get(LEADER)) and self.sessions[LEADER].epoch > 0
        said_of = words if words and has_session else {}
        counts = self._begins_to_say(said_of)
        said = self.fetch(LEADER, set(self.owned) | set(said_of), said_of, **limits)
        response = await self._asks(wire, said)
        assert said.hear(response) is E.none, f"{self.name}: {response.error_code.name}"
        self._was_said(said, response, said_of, counts, told)
        for delivery in delivered(response):
            told["deliveries"] += delivery.last_offset - delivery.first_offset + 1
            for offset in range(delivery.first_offset, delivery.last_offset + 1):
                self.queue.partitions[delivery.at[1]].given(self.name, offset, delivery.deliveries)
                self.has.setdefault(delivery.at, set()).add(offset)

    async def says_something(self, wire: Waiting, told: Counter[str], words: Words) -> None:
        if not any(words.values()):
            return
        counts = self._begins_to_say(words)
        said = self.acknowledge(LEADER, words)
        response = await self._asks(wire, said)
        assert said.hear(response) is E.none, f"{self.name}: {response.error_code.name}"
        self._was_said(said, response, words, counts, told)

    def _begins_to_say(self, words: Words) -> dict[At, dict[int, int]]:
        counts = {}
        for at, kinds in words.items():
            part = self.queue.partitions[at[1]]
            counts[at] = {offset: part.seen[offset] for offset in kinds}
            part.says(dict(kinds))
            self.has[at] -= set(kinds)
        return counts

    def _was_said(
        self, said: Said, response: Any, words: Words, counts: dict[At, dict[int, int]], told: Counter[str]
    ) -> None:
        for at, error in outcomes(said, response):
            if at in words:
                assert error is E.none, f"{self.name}: {error.name} of {sorted(words[at])} of {at[1]}"
                self.queue.partitions[at[1]].written_down(dict(words[at]), counts[at])
                told["outcomes"] += len(words[at])

    async def _asks(self, wire: Waiting, said: Said) -> Any:
        return await wire.asks(said.api, SHARE_VERSIONS[said.api], **said.fields)


def _words(has: dict[At, set[int]], random: Random) -> Words:
    """Choose acknowledgements: most records are accepted, some released, rejected or kept."""
    kinds = (ACCEPT, ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT)
    found: dict[At, dict[int, int]] = {}
    for at, offsets in has.items():
        named = {offset: random.choice(kinds) for offset in sorted(offsets) if random.random() > KEPT}
        if named:
            found[at] = named
    return found
