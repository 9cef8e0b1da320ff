"""Synthetic logs: segment files of `__consumer_offsets` as a cluster with these groups would have written them.

The same seed gives the same bytes. Groups commit every partition at an interval; occasionally one rebalances, and a
slow member delays some of those.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import google_crc32c

from kohort.protocol.batches import Record, build_batch
from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from kohort.protocol.records.record_writer import encode_key, encode_value

START_MS = 1_760_000_000_000
_CRC_AT, _CHECKED_FROM, _TIMES_AT = 17, 21, 27
_OFFSET, _TIMES = struct.Struct(">q"), struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a log.

    Attributes:
        records: Approximate number of commits.
        log_partitions: Number of partitions of the topic that the groups use.
    """

    records: int = 1_000_000
    groups: int = 10
    members: int = 4
    parts: int = 12
    interval_ms: int = 5000
    rebalance_every: int = 500  # rounds of commits between two rebalances of a group
    commits: bool = True  # whether to write commits; without them only group records can be measured
    log_partitions: int = 4
    seed: int = 1
    segment_bytes: int = 16 << 20


def write_segments(plan: Plan, folder: Path) -> int:
    """Write `folder/__consumer_offsets-<p>/…log` and return the number of records."""
    written = 0
    for log_partition in range(plan.log_partitions):
        groups = [n for n in range(plan.groups) if n % plan.log_partitions == log_partition]
        if groups:
            written += _write_partition(plan, log_partition, groups, folder / f"__consumer_offsets-{log_partition}")
    return written


def _write_partition(plan: Plan, number: int, groups: list[int], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    log = _Log(folder, plan.segment_bytes)
    rounds = max(1, plan.records // (plan.groups * plan.parts))
    chance = random.Random(f"{plan.seed}/{number}")
    stories = [_Group(plan, n, chance) for n in groups]
    now = START_MS
    for turn in range(rounds):
        now += plan.interval_ms
        for story in stories:
            story.turn(log, now + 7 * story.number, turn)
    log.close()
    return log.offset


class _Log:
    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self.offset = 0
        self._parts: list[bytes] = []
        self._size = self._base = 0

    def append(self, records: list[Record]) -> None:
        self.append_batch(build_batch(records, base_offset=self.offset), len(records))

    def append_batch(self, batch: bytes, records: int) -> None:
        self.offset += records
        self._parts.append(batch)
        self._size += len(batch)
        if self._size >= self.limit:
            self.close()

    def close(self) -> None:
        if self._parts:
            (self.folder / f"{self._base:020}.log").write_bytes(b"".join(self._parts))
        self._parts, self._size, self._base = [], 0, self.offset


class _Commits:
    """Commits that a member repeats with other offsets: the batch is built once, then only its numbers are overwritten.

    Building each batch takes five times as long, which is most of the time of a log of millions.
    """

    def __init__(self, records: list[Record]) -> None:
        self.count = len(records)
        self._batch = bytearray(build_batch(records))
        self._places = []
        at = 0
        for record in records:
            assert record.value is not None
            at = self._batch.index(record.value, at) + len(record.value)
            self._places.append(at - len(record.value) + 2)

    def at(self, base_offset: int, now: int, committed: Sequence[int]) -> bytes:
        batch, number = self._batch, _OFFSET.pack_into
        number(batch, 0, base_offset)
        _TIMES.pack_into(batch, _TIMES_AT, now, now)
        for position, offset in zip(self._places, committed, strict=True):
            number(batch, position, offset)
            number(batch, position + 13, now)
        crc = google_crc32c.value(bytes(memoryview(batch)[_CHECKED_FROM:]))
        batch[_CRC_AT:_CHECKED_FROM] = crc.to_bytes(4, "big")
        return bytes(batch)


class _Group:
    def __init__(self, plan: Plan, number: int, chance: random.Random) -> None:
        self.plan, self.number, self.chance = plan, number, chance
        self.name, self.topic = f"group-{number}", f"topic-{number}"
        self.generation = 0
        self.offsets = [0] * plan.parts
        per_member = -(-plan.parts // plan.members)
        self.commits = []
        for first in range(0, plan.parts, per_member):
            mine = range(first, min(first + per_member, plan.parts))
            self.commits.append((mine, _Commits([self.commit(part) for part in mine])))
        self.delay_ms = 0

    def turn(self, log: _Log, now: int, turn: int) -> None:
        if turn % self.plan.rebalance_every == 0:
            slow = turn > 0 and self.chance.random() < 0.5
            self.delay_ms += 12_000 if slow else 500
            self.rebalance(log, now + self.delay_ms)
        if not self.plan.commits:
            return
        offsets, chance = self.offsets, self.chance.randrange
        for mine, commits in self.commits:
            for part in mine:
                offsets[part] += chance(40, 60)
            batch = commits.at(log.offset, now + self.delay_ms, offsets[mine.start : mine.stop])
            log.append_batch(batch, commits.count)

    def commit(self, part: int) -> Record:
        """Return a commit of version 4 at offset 0 and time 0."""
        key = encode_key(1, {"group": self.name, "topic": self.topic, "partition": part})
        value = b"\0\4" + bytes(8) + b"\0\0\0\0\1" + bytes(8) + b"\1\0\x10" + self.number.to_bytes(16, "big")
        return Record(key=key, value=value, timestamp_ms=0)

    def rebalance(self, log: _Log, now: int) -> None:
        self.generation += 1
        per_member = -(-self.plan.parts // self.plan.members)
        # Java's members send their last generation, so that their subscription is always different
        was = self.generation - 1 if self.generation > 1 else -1
        subscription = write_subscription(Subscription(topics=(self.topic,), generation_id=was))
        members = []
        for n in range(self.plan.members):
            parts = tuple(range(n * per_member, min((n + 1) * per_member, self.plan.parts)))
            members.append(
                {
                    "memberId": f"c-{n}-{self.number:08x}-0000-4000-8000-{self.generation if n == 0 else 0:012x}",
                    "groupInstanceId": None,
                    "clientId": f"c-{n}",
                    "clientHost": f"/10.0.{self.number % 250}.{n}",
                    "rebalanceTimeout": 300_000,
                    "sessionTimeout": 45_000,
                    "subscription": subscription,
                    "assignment": write_assignment(Assignment(partitions={self.topic: parts})),
                }
            )
        value = {
            "protocolType": "consumer",
            "generation": self.generation,
            "protocol": "range",
            "leader": members[0]["memberId"],
            "currentStateTimestamp": now - 5,
            "members": members,
        }
        key = encode_key(2, {"group": self.name})
        log.append([Record(key=key, value=encode_value(2, 3, value), timestamp_ms=now)])
