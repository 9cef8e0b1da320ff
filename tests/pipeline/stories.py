"""Groups by construction: what happened is said here, and the rows a coordinator would have written follow from it.

Times are seconds from zero. Every member reads its partitions of one topic evenly and commits each second, as long as
the story doesn't say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kohort.pipeline.history.consumer_timeline import STABLE, UNRELEASED
from kohort.pipeline.history.inputs import GroupInput, LogEnds, PartitionCommits, TopicPartition
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord, MemberPartitions
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.protocol.records.layouts import GROUP_TYPES

ZERO_MS = 1_760_000_000_000


def ms(second: float) -> int:
    return ZERO_MS + round(1000 * second)


@dataclass
class Story:
    """Call `generation` in order of time, `event` and `silence` at will, and `group_input` at the end."""

    name: str = "g"
    until: float = 600
    topic_parts: int = 6
    commit_every: float = 1.0
    records: list[GroupRecord] = field(default_factory=list)
    members: list[GroupMember] = field(default_factory=list)
    parts: list[MemberPartitions] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)
    silent: dict[TopicPartition, list[tuple[float, float]]] = field(default_factory=dict)
    offset: int = 0

    def generation(
        self,
        number: int,
        at: float,
        members: dict[str, Any],
        *,
        took: float = 0.01,
        protocol: str = "range",
        leader: str | None = None,
        owned: dict[str, list[TopicPartition]] | None = None,
        owners: dict[str, list[TopicPartition]] | None = None,
    ) -> Story:
        """Add a generation.

        `members` maps member ids to exceptions (`topics`, `instance_id`, `session`, `poll`, `client`).
        """
        self.offset += 10
        share = owners or self._shared(list(members))
        leads = (leader or next(iter(members))) if members else None
        self.records.append(
            GroupRecord(
                partition=0, offset=self.offset, ts_ms=ms(at + took), group_id=self.name, record_type=2,
                value_version=3, group_type="classic", generation=number, protocol_type="consumer",
                protocol=protocol if members else None, leader=leads, state_ts_ms=ms(at), n_members=len(members),
                op_id=self.offset, leader_epoch=0,
            )
        )  # fmt: skip
        for member, differs in members.items():
            self.members.append(
                GroupMember(
                    partition=0, offset=self.offset, group_id=self.name, member_id=member,
                    instance_id=differs.get("instance_id"), client_id=differs.get("client", member.split("/")[0]),
                    client_host=differs.get("host", "/10.0.0.1"), session_timeout_ms=differs.get("session", 45_000),
                    rebalance_timeout_ms=differs.get("poll", 300_000), subscribed_topics=differs.get("topics", ["t"]),
                    owned_generation=-1, subscription_version=3, speaks="classic", is_leader=member == leads,
                )
            )  # fmt: skip
            for role, of_role in (("assigned", share), ("owned_before", owned or {})):
                self._parts(member, role, of_role.get(member, []))
        return self

    def to_consumer(self, at: float, epoch: int, classic: list[str], joiner: str) -> Story:
        """Let the first consumer protocol member join a classic group, with records in the order of Kafka 4.3."""
        before, after = self._shared(classic), self._shared([*classic, joiner])
        op = self.offset + 1
        self._record(at, op, 2, gone=True)
        for member in classic:
            self._record(at, op, 5, member, speaks="classic")
        self._record(at, op, 3, epoch=epoch)
        self._record(at, op, 6, epoch=epoch)
        for member in classic:
            self._record(at, op, 8, member, epoch, before[member])
        self._record(at, op, 5, joiner)
        self._record(at, op, 3, epoch=epoch + 1)
        self._record(at, op, 6, epoch=epoch + 1)
        self._record(at, op, 8, joiner, epoch + 1, state=UNRELEASED)
        for number, member in enumerate([*classic, joiner], 1):
            moment = at + 0.1 * number
            self._record(moment, self.offset + 1, 8, member, epoch + 1, after[member])
        return self

    def to_classic(self, at: float, epoch: int, classic: list[str], leaver: str) -> Story:
        """Let the last consumer protocol member leave, so that the group is classic and rebalances."""
        op = self.offset + 1
        for kind in (8, 7, 5):
            for member in (leaver, *classic):
                self._record(at, op, kind, member, gone=True)
        self._record(at, op, 6, gone=True)
        self._record(at, op, 3, gone=True)
        members: dict[str, Any] = {member: {} for member in classic}
        self.generation(epoch, at, members, took=0)
        self.records[-1].op_id = op
        return self.generation(epoch + 1, at + 0.5, members)

    def _record(self, at: float, op: int, kind: int, member: str | None = None, epoch: int | None = None,
                parts: list[TopicPartition] | None = None, *, gone: bool = False, speaks: str = "consumer", state: int = STABLE) -> None:  # fmt: skip
        self.offset += 1
        self.records.append(
            GroupRecord(
                partition=0, offset=self.offset, ts_ms=ms(at), group_id=self.name, record_type=kind,
                group_type=GROUP_TYPES[kind], is_tombstone=gone, op_id=op, leader_epoch=0, member_id=member, epoch=epoch,
            )
        )  # fmt: skip
        if gone or member is None:
            return
        self.members.append(
            GroupMember(
                partition=0, offset=self.offset, group_id=self.name, member_id=member, client_id=member.split("/")[0],
                client_host="/10.0.0.1", rebalance_timeout_ms=300_000, session_timeout_ms=45_000,
                subscribed_topics=["t"], speaks=speaks, member_epoch=epoch, member_state=state,
            )
        )  # fmt: skip
        self._parts(member, "assigned", parts or [])

    def _parts(self, member: str, role: str, parts: list[TopicPartition]) -> None:
        self.parts += [
            MemberPartitions(
                partition=0, offset=self.offset, group_id=self.name, member_id=member, topic=topic, role=role, parts=[part]
            )
            for topic, part in parts
        ]  # fmt: skip

    def _shared(self, members: list[str]) -> dict[str, list[TopicPartition]]:
        return {m: [("t", p) for p in range(self.topic_parts) if p % len(members) == n] for n, m in enumerate(members)}

    def event(self, at: float, kind: str, **more: Any) -> Story:
        event = GroupEvent(kind=kind, ts=ms(at), event_id=f"{len(self.events)}", seq=len(self.events), **more)
        if event.member_id and not event.client_id:
            event.client_id = event.member_id.split("/")[0]
        self.events.append(event)
        return self

    def rebalance(self, number: int, start: float, end: float, members: dict[str, Any], cause: str, who: str | None = None,
                  **more: Any) -> Story:  # fmt: skip
        """Add a generation with events for its start and the end of its barrier."""
        self.event(start, "rebalance_started", generation=number - 1, cause=cause, member_id=who)
        self.event(end, "join_completed", generation=number, members=len(members))
        return self.generation(number, end, members, **more)

    def silence(self, parts: list[int], start: float, end: float) -> Story:
        for part in parts:
            self.silent.setdefault(("t", part), []).append((start, end))
        return self

    def group_input(self) -> GroupInput:
        group = GroupInput(self.name, until_ms=ms(self.until))
        group.records, group.members, group.parts, group.events = self.records, self.members, self.parts, self.events
        for part in range(self.topic_parts):
            place = ("t", part)
            seconds = np.arange(1 + part / 10, self.until, self.commit_every)
            for start, end in self.silent.get(place, []):
                seconds = seconds[(seconds < start) | (seconds > end)]
            times = np.array([ms(s) for s in seconds], np.int64)
            group.commits[place] = PartitionCommits(times, np.round(10 * seconds).astype(np.int64))
            sampled = np.array([ms(s) for s in np.arange(0, self.until, 2)], np.int64)
            ends = np.round((sampled - ZERO_MS) / 100).astype(np.int64) + 3
            group.ends[place] = LogEnds(sampled, np.zeros(len(sampled), np.int64), ends)
        return group
