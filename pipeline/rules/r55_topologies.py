"""R55: members of a streams group have different topologies for long, or the group was deleted to change its topology.

Kafka 4.3 rejects a topology that differs from the group's, and writes nothing about it. Members with an older epoch are
accepted with a status. Kafka's tool deletes internal topics only on request, and can write offsets of a group that does
not exist: `StreamsGroupCommand` and `ConsumerGroupCommand` of that release.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.streams_history import STREAMS, StreamsHistory, ThreadStay
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, listed, moment, seconds, several
from kohort.pipeline.silver.streams_says import StreamsTopology

ID = "R55"
STUCK_MS = 5 * 60_000  # a rolling upgrade without a join or leave for this long has stopped
TOGETHER_MS = 5_000  # a group and its offsets are deleted in one batch

_ADVICE = (
    "Give the new version its own application.id: Kafka accepts no other topology while the group exists. Or "
    "stop all instances, save the offsets (kafka-streams-groups --reset-offsets --all-input-topics --to-current --dry-run "
    "--export), delete the group (kafka-streams-groups --delete), set them again under its id (kafka-consumer-groups "
    "--reset-offsets --from-file, --execute), and start the new version: a group of offsets alone becomes a streams group and "
    "keeps them. Changelogs stay unless --delete-all-internal-topics is given: keep them with the offsets, because records "
    "that are processed again are added to their state."
)


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (streams := analysis.streams) is None:
        return
    yield from _stale(streams)
    yield from _made_anew(analysis, streams)


def _stale(streams: StreamsHistory) -> Iterator[Finding]:
    """Find members with an older epoch while no member joined or left for long."""
    moments = sorted({ms for stay in streams.threads for ms in (stay.start_ms, stay.end_ms) if ms is not None})
    stuck = [
        (since, until, old)
        for since, until in pairwise([*moments, streams.until_ms])
        if until >= streams.since_ms and until - since >= STUCK_MS and (old := _older(streams, since))
    ]
    if not stuck:
        return
    since_ms, until_ms, old = max(stuck, key=lambda period: period[1] - period[0])
    names, newest = sorted({stay.name for stay in old}), _newest(streams, since_ms)
    yield Finding(
        ID,
        "Members have an older topology than their group",
        WARNING,
        CERTAIN,
        f"{several(len(old), 'member')} of {listed(names)} {'has' if len(old) == 1 else 'have'} had the topology of epoch "
        f"{listed(str(epoch) for epoch in sorted({stay.topology_epoch for stay in old}))} for {seconds(until_ms - since_ms)}, "
        f"while the group's is of epoch {newest} (STALE_TOPOLOGY); no member joined or left in that time, so an upgrade has "
        "stopped half-way",
        f"Finish the upgrade of {listed(names)}, or go back to the version of the other members. " + _ADVICE,
        since_ms,
        until_ms,
        names,
        {
            "lasted_ms": until_ms - since_ms,
            "members": len(old),
            "topology_epoch": newest,
            "open": until_ms == streams.until_ms,
        },
    )


def _newest(streams: StreamsHistory, at_ms: int) -> int:
    """Return the group's topology epoch or, without a record of it, the newest epoch of a member."""
    topology = streams.topology_at(at_ms)
    if topology is not None:
        return topology.epoch
    since_ms = max((begun_ms for begun_ms in streams.begun if begun_ms <= at_ms), default=0)
    return max((stay.topology_epoch for stay in streams.threads if since_ms <= stay.start_ms <= at_ms), default=0)


def _older(streams: StreamsHistory, at_ms: int) -> list[ThreadStay]:
    newest = _newest(streams, at_ms)
    present = (
        stay for stay in streams.threads if stay.start_ms <= at_ms and (stay.end_ms is None or stay.end_ms > at_ms)
    )
    return [stay for stay in present if stay.topology_epoch < newest]


def _made_anew(analysis: GroupAnalysis, streams: StreamsHistory) -> Iterator[Finding]:
    """Find groups that were deleted and created again with another topology.

    The effects of the deletion are known only if it is inside the analyzed period.
    """
    topologies = streams.topologies
    for (_, old_topology), (gone_ms, deletion), (again_ms, after) in zip(
        topologies, topologies[1:], topologies[2:], strict=False
    ):
        if (
            gone_ms < streams.since_ms
            or old_topology is None
            or deletion is not None
            or after is None
            or old_topology == after
        ):
            continue
        if not _was_converted(analysis, gone_ms, again_ms):
            yield _recreated(gone_ms, again_ms, _lost(analysis, after, gone_ms, again_ms))


def _was_converted(analysis: GroupAnalysis, gone_ms: int, again_ms: int) -> bool:
    """Return whether it was a group of another type in between, which keeps the offsets."""
    other_records = (
        record for record in analysis.group.records if record.group_type != STREAMS and not record.is_tombstone
    )
    return any(gone_ms <= record.ts_ms <= again_ms for record in other_records)


def _recreated(gone_ms: int, again_ms: int, lost: int) -> Finding:
    return Finding(
        ID,
        "The group was deleted and has another topology since",
        WARNING if lost else INFO,
        CERTAIN,
        f"at {moment(gone_ms)} UTC the group was deleted, and {seconds(again_ms - gone_ms)} later it was created again with "
        f"another topology; "
        + (
            f"{several(lost, 'committed offset')} of its input were deleted with it: there it started according to auto.offset.reset, "
            "earliest in Kafka Streams unless set"
            if lost
            else "no offset of its input was lost"
        ),
        _ADVICE,
        gone_ms,
        again_ms,
        [],
        {"tombstones": lost, "lasted_ms": again_ms - gone_ms},
    )


def _lost(analysis: GroupAnalysis, topology: StreamsTopology, gone_ms: int, again_ms: int) -> int:
    """Return the number of offsets of its input topics that were deleted with the group and not restored."""
    read = {
        name for subtopology in topology.subtopologies.values() for name in (*subtopology.reads, *subtopology.rereads)
    }
    lost = 0
    for (topic, _), commits in analysis.group.commits.items():
        went = topic in read and any(abs(int(ts_ms) - gone_ms) <= TOGETHER_MS for ts_ms in commits.gone_ms)
        set_again = ((commits.ts_ms > gone_ms) & (commits.ts_ms <= again_ms)).any()
        lost += went and not set_again
    return lost
