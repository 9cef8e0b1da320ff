"""Explanation of a group of any type: what it waits for and until when, advice for each client, unsuitable settings.

Each part depends on the facts that a view has, not on the type of the group: a phase of a rebalance, epochs, tasks or
shared records.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.groups.explain_phase import advise_in_phase, unused_id_waits, wait_of_phase
from kohort.groups.explain_reconciling import Reconciling
from kohort.groups.explain_records import explain_partition, held_by, waits_for_records
from kohort.groups.explanation import Advice, Explanation, Wait
from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import GroupView
from kohort.groups.settings_advice import unsuitable_settings

UNOBSERVED = "an unobserved event"
REBALANCING = ("PreparingRebalance", "CompletingRebalance")  # states of a classic group


def explain(view: GroupView) -> Explanation:
    """Return the explanation of a group."""
    reconciling = Reconciling(view) if view.about_type.has_epochs else None
    partitions = [] if view.share is None else [explain_partition(view, state) for state in view.share.partitions]
    partitions += [] if reconciling is None else reconciling.waiting_tasks()
    names = view.names
    return Explanation(
        _headline(view),
        tuple(_waits(view, reconciling)),
        tuple(_advice(view, reconciling, names[member.member_id], member) for member in view.members),
        tuple(unsuitable_settings(view)),
        partitions=tuple(partitions),
    )


def explain_missing(group_id: str, noun: str, created_by: str) -> Explanation:
    """Return the explanation of a group that does not exist.

    Args:
        noun: Names the type in "share group orders".
        created_by: The request that creates such a group.
    """
    return Explanation(f"{noun} {group_id}: does not exist; the first {created_by} creates it")


def _headline(view: GroupView) -> str:
    words, state = view.about_type, view.state or "state unknown"
    version = f"{words.version} unknown" if view.version is None else f"{words.version} {view.version}"
    text = f"{words.noun} {view.group_id}: {state}, {'at least ' if view.is_lower_bound else ''}{version}"
    if view.target_epoch != view.version:
        text += f", target assignment of epoch {view.target_epoch}"
    if view.streams is not None and view.streams.topology is not None:
        text += f", topology of epoch {view.streams.topology.epoch}"
    text += f", {_count(view)}"
    if view.not_described:
        text += f"; the cluster cannot describe it: {view.not_described}"
    return text


def _count(view: GroupView) -> str:
    count = len(view.members)
    text = f"{count} member{'s'[count == 1 :]}"
    if not view.is_complete:
        return f"{text} observed, there may be others"
    if view.streams is not None:
        processes = len({member.process_id for member in view.members})
        text += f" in {processes} process{'es' * (processes != 1)}"
    classic = sum(member.speaks != view.type for member in view.members)
    return text + (f", {classic} of them classic" if classic else "")


def _waits(view: GroupView, reconciling: Reconciling | None) -> Iterator[Wait]:
    if view.phase is not None:
        yield from wait_of_phase(view, view.phase)
    elif view.state in REBALANCING and not view.knows_timers:
        yield Wait((), UNOBSERVED, None, "the cluster's description does not name it", knows_timers=False)
    yield from unused_id_waits(view)
    if view.streams is not None and view.members:
        yield from _waits_for_topics(view)
    if reconciling is not None:
        waits = list(reconciling.waits())
        yield from waits
        if view.state == "Reconciling" and not view.knows_timers and not waits:
            consequence = "the next heartbeats show whether assignments are pending"
            yield Wait((), UNOBSERVED, None, f"{consequence}; the traffic does not show why", knows_timers=False)
    if view.share is not None:
        yield from waits_for_records(view.share)


def _waits_for_topics(view: GroupView) -> Iterator[Wait]:
    streams = view.streams
    if streams is None or streams.problems is None:
        reason = "a check of the topics that the topology needs"
        yield Wait((), reason, None, "the next heartbeat of any member checks them")
        return
    for problem in streams.problems:
        consequence = "the next heartbeat after they exist assigns tasks"
        if problem.is_internal:
            consequence = "each heartbeat tries to create them, and the next one after that assigns tasks"
        yield Wait((), f"topics ({problem.code}): {problem.detail}", None, consequence)


def _advice(view: GroupView, reconciling: Reconciling | None, name: str, member: GroupMember) -> Advice:
    if not member.is_observed:
        return Advice(name, f"does not connect through the proxy; {view.evidence_text}", None)
    should = advise_in_phase(view, member) if reconciling is None else reconciling.advise(member)
    count = 0 if view.share is None else held_by(view.share, member.member_id)
    if count:
        should += f", and acknowledge the {count} record{'s'[count == 1 :]} it holds"
    if member.silent_ms is not None:
        should += f"; last request {member.silent_ms / 1_000:.1f} s ago"
    return Advice(name, should, member.session_ends_in_ms, member.is_alive)
