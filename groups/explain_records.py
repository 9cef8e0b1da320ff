"""Explanations of shared records (KIP-932): who holds them until when, and why a record is not delivered.

They contain what brokers know, not what only clients know.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.groups.explanation import Wait, duration
from kohort.groups.group_view import GroupView, ShareView
from kohort.groups.shared_records import (
    LOADING,
    NOT_LOADED,
    Fate,
    InFlightRecords,
    SharePartitionState,
    delivered,
    offsets,
)

MAX_WAITS = 100  # held ranges that are listed one by one; the rest is counted
OUTCOMES = {"records_accepted": "accepted", "records_rejected": "rejected", "records_archived": "archived"}


def held_by(share: ShareView, member_id: str) -> int:
    """Return the number of records that a member holds."""
    return sum(records.count for records in share.in_flight if records.member_id == member_id)


def waits_for_records(share: ShareView) -> Iterator[Wait]:
    held = [records for records in share.in_flight if records.member_id]
    for records in held[:MAX_WAITS]:
        yield _wait_for(records, share.delivery_count_limit)
    beyond = held[MAX_WAITS:]
    if beyond:
        soonest = min(records.ends_in_ms or 0 for records in beyond)
        reason = f"the outcome of {sum(records.count for records in beyond)} more records"
        yield Wait((), reason, soonest, "the first of their locks expires")


def _wait_for(held: InFlightRecords, limit: int) -> Wait:
    records = f"{held.topic}-{held.partition} {offsets(held.first_offset, held.last_offset)}"
    if held.is_being_written:
        reason = f"to complete its acknowledgement of {records}, which is being written"
        return Wait((held.holder,), reason, None, "it takes effect")
    last = held.delivery_count >= limit
    consequence = f"archived, as {limit} deliveries are the limit" if last else "other members may acquire them"
    reason = f"to acknowledge {records}, {delivered(held.delivery_count)}"
    return Wait((held.holder,), reason, held.ends_in_ms, consequence)


def explain_partition(view: GroupView, state: SharePartitionState) -> str:
    """Return the progress of a partition, and why no more records are acquired from it."""
    blocked = list(_before_fetching(state))
    obstacles = [*blocked, *_missing_fetches(view, state)]
    if not blocked:
        obstacles.append(_next_record(view, state))
    text = "; ".join(obstacles)
    if state.start_offset is None:
        return f"{state.name}: {text}"
    lag = "" if state.lag is None else f", lag {state.lag}"
    return f"{state.name}: begins at {state.start_offset}, {state.acquired} held{lag}; {text}"


def _before_fetching(state: SharePartitionState) -> Iterator[str]:
    """Yield the reasons why no records can be acquired now."""
    if state.leader is None:
        yield "it has no leader: its nodes are stopped"
    if not state.is_ready and state.is_initializing:
        yield "it is being initialized: the share coordinator has not responded"
    elif not state.is_ready:
        yield "no heartbeat has initialized it"
    if state.progress == NOT_LOADED:
        yield "not loaded at any leader yet: no member has fetched from it since " + (
            f"node {state.leader} leads it" if state.leader is not None else "its leader stopped"
        )
    elif state.progress == LOADING:
        yield "its leader is reading its stored state"


def _missing_fetches(view: GroupView, state: SharePartitionState) -> Iterator[str]:
    """Yield whether no member is assigned the partition, or no member with an assignment fetches."""
    names = view.names
    assigned = [
        names[member.member_id] for member in view.members if state.partition in member.partitions.get(state.topic, ())
    ]
    if not assigned and not state.fetched_by:
        yield "it is assigned to no member"
    elif not state.fetched_by and state.leader is not None:
        yield f"{', '.join(assigned)} should fetch from node {state.leader}, and has no share session there"


def _next_record(view: GroupView, state: SharePartitionState) -> str:
    """Return a sentence about the record that can be acquired next, or about what it waits for."""
    assert view.share is not None, "only share groups have such partitions"
    assert state.next_fetch_offset is not None, "a partition without obstacles is loaded"
    if not state.has_room:
        count = state.in_flight_count
        return (
            f"no new records are acquired: {count} record{'s'[count == 1 :]} from {state.start_offset} on are in "
            f"flight, and the limit is {view.share.max_record_locks} (share.partition.max.record.locks)"
            f"{_first_held(view.share, state)}"
        )
    if state.next_fetch_offset < state.readable_end:
        return f"{state.next_fetch_offset} can be acquired next"
    if state.readable_end < state.log_end_offset:
        since = f"from {state.readable_end} on records wait"
        return f"{since} for an open transaction to end (share.isolation.level read_committed)"
    return "all records are acquired" if state.lag else "no records remain"


def _first_held(share: ShareView, state: SharePartitionState) -> str:
    first = next((records for records in share.in_flight if _is_in(records, state)), None)
    if first is None or not first.member_id:
        return ""
    return f"; {first.first_offset} is the first, which {first.holder} holds, {duration(first.ends_in_ms)}"


def _is_in(records: InFlightRecords, state: SharePartitionState) -> bool:
    return (records.topic, records.partition) == (state.topic, state.partition)


# Records


def explain_record(
    view: GroupView, state: SharePartitionState, offset: int, fate: Fate | None, dead_letter: Fate | None = None
) -> str:
    """Return why a record is not delivered, or that it is available.

    Args:
        fate: The last event that reported the record as accepted, rejected or archived, or None.
        dead_letter: The last event about a dead letter of the record, or None.
    """
    assert view.share is not None, "only share groups have such records"
    record = f"{state.name} {offset}"
    if offset >= state.log_end_offset:
        return f"{record}: not written yet; the log ends at {state.log_end_offset}"
    if offset < state.log_start_offset:
        return f"{record}: deleted from the log, which starts at {state.log_start_offset}"
    outcome = _outcome(view, fate, dead_letter)
    if state.start_offset is not None and offset < state.start_offset:
        below = f"complete: it is below the group's start offset, {state.start_offset}"
        return f"{record}: {outcome or below}"
    blockers = [*_before_fetching(state), *_missing_fetches(view, state)]
    for held in view.share.in_flight:
        if _is_in(held, state) and held.first_offset <= offset <= held.last_offset:
            return f"{record}: {_explain_in_flight(held, view.share.delivery_count_limit, outcome, blockers)}"
    if state.start_offset is None:
        blockers.append("the group's start offset is not determined yet (share.auto.offset.reset)")
    elif offset >= state.readable_end:
        blockers.append("it waits for an open transaction to end (share.isolation.level read_committed)")
    elif not blockers:
        blockers.append(_next_record(view, state))
    return f"{record}: {'; '.join(['never delivered', *blockers])}"


def _outcome(view: GroupView, fate: Fate | None, dead_letter: Fate | None) -> str:
    if fate is None or view.share is None:
        return ""
    outcome = OUTCOMES[fate.kind]
    if outcome == "archived" and fate.cause == "below_start":
        return "archived: it is below the start offset"
    is_by_member = fate.member_id and outcome != "archived"
    member = f" by {view.names.get(fate.member_id, fate.member_id)}" if is_by_member else ""
    limit = ""
    if fate.cause == "delivery_limit":
        limit = f", the group's delivery limit ({view.share.delivery_count_limit})"
    return f"{outcome}{member}, {delivered(fate.delivery_count)}{limit}{_explain_dead_letter(dead_letter)}"


def _explain_dead_letter(dead_letter: Fate | None) -> str:
    if dead_letter is None:
        return ""
    if dead_letter.dead_letter_partition < 0:
        return f"; its dead letter was not written: {dead_letter.reason}"
    return f"; its dead letter is in {dead_letter.dead_letter_topic}-{dead_letter.dead_letter_partition}"


def _explain_in_flight(held: InFlightRecords, limit: int, outcome: str, blockers: list[str]) -> str:
    times = delivered(held.delivery_count)
    if held.is_being_written:
        return f"{held.holder} has acknowledged it, which is being written; {times}"
    if held.member_id:
        consequence = "archived" if held.delivery_count >= limit else "other members may acquire it"
        return f"{held.holder} holds it; {duration(held.ends_in_ms)}: {consequence}; {times} of {limit}"
    if held.state == "acknowledged":
        return outcome or f"accepted, {times}"
    if held.state == "archiving":
        return f"{outcome or f'rejected, or the delivery limit is reached, {times}'}; its dead letter is being written"
    if held.state == "archived":
        return outcome or f"archived, {times}: rejected, or the delivery limit is reached"
    availability = f"available again, {times} of {limit}" if held.delivery_count else f"available, {times}"
    return "; ".join([availability, *blockers])
