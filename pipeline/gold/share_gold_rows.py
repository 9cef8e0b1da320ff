"""Rows of the gold tables about share groups, as in `gold_rows`."""

from __future__ import annotations

from kohort.pipeline.arrow_types import Int32, Int64, Moment
from kohort.pipeline.gold.gold_rows import OfGroup


class ShareGroupRow(OfGroup):
    """Totals of a share group's records.

    seen_share: fraction of the time covered by a log of record states. returned: returned records, once per return.
    in_vain_s: time that records were held without being accepted, summed over records.
    """

    first_ms: Moment
    last_ms: Moment
    seen_from_ms: Moment | None
    seen_share: float
    has_deliveries: bool
    has_states: bool
    members: Int32
    accepted: Int64 | None
    rejected: Int64 | None
    returned: Int64 | None
    given_up: Int64 | None
    held_p50_ms: Int64 | None
    held_p99_ms: Int64 | None
    held_max_ms: Int64 | None
    in_vain_s: float | None
    day: str


class ShareMemberRow(OfGroup):
    """A member of a share group: its stay, and the fates of its records if there is an event log.

    ended: vanished, left or unknown; null while it is a member, or if its join is unknown.
    """

    member_id: str
    client: str
    joined_ms: Moment | None
    gone_ms: Moment | None
    ended: str | None
    records: Int64 | None
    accepted: Int64 | None
    released: Int64 | None
    rejected: Int64 | None
    expired: Int64 | None
    closed: Int64 | None
    given_up: Int64 | None
    expiries: Int32 | None
    lock_ms: Int64 | None
    held_p50_ms: Int64 | None
    held_p99_ms: Int64 | None
    held_max_ms: Int64 | None
    in_vain_s: float | None
    day: str


class ShareGivenUpRow(OfGroup):
    """Records that were archived at the delivery limit. source: events or states."""

    topic: str
    part: Int32
    first_offset: Int64
    last_offset: Int64
    deliveries: Int32
    begun_ms: Moment
    archived_ms: Moment
    released: Int32 | None
    expired: Int32 | None
    closed: Int32 | None
    clients: list[str]
    source: str
    day: str
