"""Share coordinators are told of partitions whose records a group is going to share (share-groups §4).

What is being made ready is written with the heartbeat that found it missing; share coordinators are asked when that is
written. Members are not told if it fails: the next heartbeat tries again.
"""

from collections.abc import Mapping
from functools import partial
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_host import Outcome
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode

OFFSETS_WRITE_TIMEOUT_MS = 5_000
"""The time that a write to the offsets topic may take: nothing is tried again sooner."""

TO_BE_DECIDED = -1
"""The start offset where `share.auto.offset.reset` decides."""

Missing = Mapping[UUID, tuple[str, frozenset[int]]]
"""By topic id, its name and partitions."""


def _nobody_waits(error: ErrorCode, now_ms: int) -> None:
    """A write that failed was taken back: what was being made ready is tried again when its time is up."""


def find_missing(group: ShareGroup, now_ms: int) -> Missing:
    """Partitions of subscribed topics that are not ready, nor being made ready since a while ago."""
    version = group.coordinator.topics.version
    if group.complete_version == version:
        return {}
    retry_ms = group.coordinator.settings.group_share_initialize_retry_interval_ms
    begun_after_ms = now_ms - max(retry_ms, OFFSETS_WRITE_TIMEOUT_MS)
    found: dict[UUID, tuple[str, frozenset[int]]] = {}
    for topic in map(group.coordinator.topics.by_name, sorted(group.names)):
        if topic is not None:
            missing = frozenset(range(topic.partitions)) - group.states.covered(topic.topic_id, begun_after_ms)
            if missing:
                found[topic.topic_id] = topic.name, missing
    if not found and not group.states.initializing:
        group.complete_version = version
    return found


def begin(group: ShareGroup, changes: GroupChanges, missing: Missing, now_ms: int) -> None:
    """Notes that partitions are being made ready."""
    changes.make(ShareKind.STATE_PARTITIONS, None, group.states.begin(missing, now_ms))


def ask(group: ShareGroup, missing: Missing, state_epoch: int, now_ms: int) -> None:
    """Has share coordinators begin partitions. `state_epoch`: the epoch of the group that found them missing."""
    wanted = {
        (topic_id, partition): (state_epoch, TO_BE_DECIDED)
        for topic_id, (_, partitions) in missing.items()
        for partition in sorted(partitions)
    }
    group.coordinator.share_persister().initialize(group.group_id, wanted, partial(note_outcome, group), now_ms)


def note_outcome(
    group: ShareGroup,
    outcomes: Mapping[TopicIdPartition, Outcome],
    now_ms: int,
    on_written: OnWritten = _nobody_waits,
) -> None:
    """All is ready, or nothing is: one error, and all that was asked for together is asked for again.

    `on_written` is called when that is written, with NOT_COORDINATOR if the group is not there any more.
    """
    if not group.is_there:
        on_written(ErrorCode.not_coordinator, now_ms)  # deleted, or moved: the next coordinator asks again
        return
    are_ready = all(outcome.error_code is ErrorCode.none for outcome in outcomes.values())
    states = group.states.end(outcomes, are_ready=are_ready)
    if states == group.states:
        on_written(ErrorCode.none, now_ms)
        return
    changes = GroupChanges(group)
    changes.make(ShareKind.STATE_PARTITIONS, None, states)
    changes.write(now_ms, Cause("partitions_ready" if are_ready else "partitions_not_ready"), on_written)
