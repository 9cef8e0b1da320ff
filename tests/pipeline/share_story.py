"""Share groups by construction: deliveries and their outcomes, as both types of log contain them.

Times are seconds from zero. A story has record events or (`told_by_states`) records of a share coordinator.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput, LogEnds
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord, MemberPartitions, ShareStateRecord
from kohort.pipeline.sources.source_rows import GroupEvent, ShareLagSample
from kohort.protocol.records.layouts import ACKNOWLEDGED, ARCHIVED, ARCHIVING, AVAILABLE
from tests.pipeline.stories import ms

TOPIC, TOPIC_ID = "orders", "T" * 22
Range = tuple[int, int]


@dataclass
class ShareStory:
    """A share group on one topic, whose events are recorded in time order."""

    name: str = "workers"
    limit: int = 5
    told_by_states: bool = False
    has_dead_letters: bool = False
    until: float = 120
    events: list[GroupEvent] = field(default_factory=list)
    states: list[ShareStateRecord] = field(default_factory=list)
    records: list[GroupRecord] = field(default_factory=list)
    members: list[GroupMember] = field(default_factory=list)
    parts: list[MemberPartitions] = field(default_factory=list)
    lags: list[ShareLagSample] = field(default_factory=list)
    ends: dict[tuple[str, int], LogEnds] = field(default_factory=dict)
    counts: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))

    # --- members

    def joins(self, at: float, *names: str) -> ShareStory:
        for name in names:
            self._record(at, 10, f"{name}-id")
            self.members.append(
                GroupMember(
                    partition=0, offset=self.records[-1].offset, group_id=self.name, member_id=f"{name}-id",
                    client_id=name, client_host="/10.0.0.1", speaks="share",
                )
            )  # fmt: skip
        return self

    def goes(self, at: float, *names: str, cause: str | None = None, others: int | None = None) -> ShareStory:
        """Remove a member, with a `cause` as in the broker's log or None, and the remaining members of the event."""
        for name in names:
            self._record(at, 10, f"{name}-id", gone=True)
            if cause is not None:
                self._event(at, "member_removed", f"{name}-id", cause, members=others)
        return self

    def has(self, at: float, name: str, *parts: int) -> ShareStory:
        """Set the partitions of a member."""
        self._record(at, 14, f"{name}-id")
        self.parts.append(
            MemberPartitions(
                partition=0, offset=self.records[-1].offset, group_id=self.name, member_id=f"{name}-id",
                topic_id=TOPIC_ID, role="assigned", parts=list(parts),
            )
        )  # fmt: skip
        return self

    def told_by_events_alone(self) -> ShareStory:
        """Return only kohort's event log, from its first line on, without members that joined before."""
        self.records, self.members = [], []
        return self

    def added(self, at: float, name: str) -> ShareStory:
        """Return the event of a member that joins."""
        self._event(at, "member_added", f"{name}-id", "join_new")
        return self

    # --- records

    def gets(self, at: float, name: str, *ranges: Range, part: int = 0) -> ShareStory:
        for first, last in ranges:
            for offset in range(first, last + 1):
                self.counts[part, offset] += 1
            self._of_records(at, "records_acquired", name, (first, last), part)
        return self

    def accepts(self, at: float, name: str, *ranges: Range, part: int = 0) -> ShareStory:
        return self._ends(at, "records_accepted", name, ranges, part, ACKNOWLEDGED, "")

    def releases(self, at: float, name: str, *ranges: Range, part: int = 0, cause: str = "acknowledged") -> ShareStory:
        return self._ends(at, "records_released", name, ranges, part, AVAILABLE, cause)

    def rejects(self, at: float, name: str, *ranges: Range, part: int = 0) -> ShareStory:
        return self._ends(at, "records_rejected", name, ranges, part, ARCHIVED, "")

    def dead_letter(self, at: float, offset: int, reason: str = "") -> ShareStory:
        """Add the event of a dead letter that was written, or of one that was not for this reason."""
        detail = {"first_offset": f"{offset}", "last_offset": f"{offset}", "dead_letter_topic": f"dlq.{TOPIC}"}
        detail |= {"reason": reason} if reason else {"dead_letter_partition": "0"}
        kind, cause = ("dead_letter_failed", "topic_missing") if reason else ("dead_letter_written", "rejected")
        self._event(at, kind, "", cause, {"topic": TOPIC, "partition": "0", **detail})
        return self

    def renews(self, at: float, name: str, range_: Range, part: int = 0) -> ShareStory:
        self._of_records(at, "records_renewed", name, range_, part)
        return self

    def expires(self, at: float, name: str, *ranges: Range, part: int = 0) -> ShareStory:
        return self._ends(at, "lock_expired", name, ranges, part, AVAILABLE, "")

    def works(self, start: float, end: float, name: str, first: int, part: int = 0, rate: int = 10) -> int:
        """Accept a batch every second, and return the next offset."""
        for n in range(int(end - start)):
            batch = first + n * rate, first + (n + 1) * rate - 1
            self.gets(start + n, name, batch, part=part).accepts(start + n + 0.5, name, batch, part=part)
        return first + int(end - start) * rate

    # --- lag

    def lag(self, at: float, records: int, *, start: int = 0, part: int = 0, members: int | None = None) -> ShareStory:
        """Set the lag that the coordinator reports."""
        self.lags.append(
            ShareLagSample(
                group_id=self.name, topic=TOPIC, part=part, sampled_ms=ms(at), start_offset=start, lag=records,
                members=members,
            )
        )  # fmt: skip
        return self

    def log_ends(self, *samples: tuple[float, int], part: int = 0) -> ShareStory:
        """Set times and log ends."""
        times, found = (np.array(column) for column in zip(*samples, strict=True))
        moments = np.array([ms(time) for time in times], np.int64)
        self.ends[TOPIC, part] = LogEnds(moments, np.zeros(len(found), np.int64), found.astype(np.int64))
        return self

    # --- the whole

    def group_input(self) -> GroupInput:
        group = GroupInput(self.name, until_ms=ms(self.until))
        group.events, group.records, group.members = self.events, self.records, self.members
        group.parts = self.parts
        group.share_states, group.share_lags, group.ends = self.states, self.lags, self.ends
        group.topic_names = {TOPIC_ID: TOPIC}
        return group

    def found(self) -> dict[str, Finding]:
        """Return the findings by rule."""
        return {finding.rule: finding for finding in diagnose(analyse(self.group_input()))}

    def state(
        self, at: float, *batches: tuple[int, int, int, int], part: int = 0, start: int | None = None,
        snapshot: int | None = None, complete: int | None = 0, gone: bool = False,
    ) -> ShareStory:  # fmt: skip
        """Add a share coordinator record: a snapshot with this number, or an update."""
        firsts, lasts, states, counts = (
            (list(column) for column in zip(*batches, strict=True)) if batches else ([],) * 4
        )
        self.states.append(
            ShareStateRecord(
                partition=0, offset=len(self.states), ts_ms=ms(at), group_id=self.name, topic_id=TOPIC_ID, part=part,
                is_snapshot=snapshot is not None or gone, snapshot_epoch=snapshot or 0,
                state_epoch=None if snapshot is None else 1, start_offset=start, complete=complete, is_tombstone=gone,
                first_offsets=firsts, last_offsets=lasts, states=states, delivery_counts=counts,
            )
        )  # fmt: skip
        return self

    def _ends(
        self, at: float, kind: str, name: str, ranges: tuple[Range, ...], part: int, state: int, cause: str
    ) -> ShareStory:
        for first, last in ranges:
            for offset in range(first, last + 1):
                count = self.counts[part, offset]
                given_up = state == AVAILABLE and count >= self.limit
                self._of_records(at, kind, name, (offset, offset), part, cause or None)
                if given_up:
                    self._of_records(at, "records_archived", name, (offset, offset), part, "delivery_limit")
                if self.told_by_states:
                    final = ARCHIVED if given_up else state
                    if final == ARCHIVED and self.has_dead_letters:
                        self.state(at, (offset, offset, ARCHIVING, count), part=part)
                    self.state(at, (offset, offset, final, count), part=part)
        return self

    def _of_records(
        self, at: float, kind: str, name: str, range_: Range, part: int, cause: str | None = None
    ) -> None:  # fmt: skip
        if self.told_by_states:
            if not any(state.part == part for state in self.states):
                self.state(0, part=part, snapshot=0, start=0)
            return
        first, last = range_
        detail = {"first_offset": f"{first}", "last_offset": f"{last}", "delivery_count": f"{self.counts[part, first]}"}
        self._event(at, kind, f"{name}-id", cause, {"topic": TOPIC, "partition": f"{part}", **detail})

    def _event(
        self, at: float, kind: str, member_id: str, cause: str | None, detail: dict[str, str] | None = None,
        members: int | None = None,
    ) -> None:  # fmt: skip
        number = len(self.events)
        self.events.append(
            GroupEvent(
                event_id=f"{number}", seq=number, ts=ms(at), kind=kind, group_id=self.name, group_type="share",
                member_id=member_id, client_id=member_id.removesuffix("-id"), cause=cause, detail=detail,
                members=members,
            )
        )  # fmt: skip

    def _record(self, at: float, kind: int, member_id: str, *, gone: bool = False) -> None:
        offset = len(self.records)
        self.records.append(
            GroupRecord(
                partition=0, offset=offset, ts_ms=ms(at), group_id=self.name, record_type=kind, group_type="share",
                is_tombstone=gone, op_id=offset, member_id=member_id,
            )
        )  # fmt: skip
