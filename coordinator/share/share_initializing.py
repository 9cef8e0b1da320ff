"""Share coordinators are told of partitions whose records a group is going to share (share-groups §4).

What is being made ready is written with the heartbeat that found it missing; share coordinators are called when that is
written. Members are not told if it fails: the next heartbeat tries again.
"""

from collections.abc import Mapping
from functools import partial
from math import inf
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_host import OnOutcomes
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_calls import StateCall, call_in_slices
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
    """Find partitions of subscribed topics that are not ready, nor being made ready since a while ago."""
    version = group.coordinator.topics.version
    if group.complete_version == version and now_ms < group.complete_until_ms:
        return {}
    retry_ms = group.coordinator.settings.group_share_initialize_retry_interval_ms
    retry_ms = max(retry_ms, OFFSETS_WRITE_TIMEOUT_MS)
    found: dict[UUID, tuple[str, frozenset[int]]] = {}
    for topic in map(group.coordinator.topics.by_name, sorted(group.names)):
        # Partitions that are ready exist: comparing their number is enough, and quick.
        if topic is not None and len(group.states.ready(topic.topic_id)) < topic.partitions:
            missing = frozenset(range(topic.partitions)) - group.states.covered(topic.topic_id, now_ms - retry_ms)
            if missing:
                found[topic.topic_id] = topic.name, missing
    if not found:
        begun_ms = min((topic.since_ms for topic in group.states.initializing.values()), default=inf)
        group.complete_version, group.complete_until_ms = version, begun_ms + retry_ms
    return found


def begin(group: ShareGroup, changes: GroupChanges, missing: Missing, now_ms: int) -> None:
    """Note that partitions are being made ready."""
    changes.make(ShareKind.STATE_PARTITIONS, None, group.states.begin(missing, now_ms))


def initialize_missing(group: ShareGroup, missing: Missing, state_epoch: int, now_ms: int) -> None:
    """Have share coordinators begin partitions. `state_epoch`: the epoch of the group that found them missing."""
    partitions = ((topic_id, partition) for topic_id, (_, numbers) in missing.items() for partition in sorted(numbers))
    persister = group.coordinator.share_persister()

    def initialize(partitions: list[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int) -> None:
        beginnings = dict.fromkeys(partitions, (state_epoch, TO_BE_DECIDED))
        persister.initialize(group.group_id, beginnings, on_outcomes, now_ms)

    call_in_slices(group, StateCall(partitions, initialize, partial(note_outcome, group)), now_ms)


def note_outcome(group: ShareGroup, call: StateCall, now_ms: int, on_written: OnWritten = _nobody_waits) -> None:
    """Note that all partitions of a call are ready, or none of them after an error: then all are tried again.

    `on_written` is called when that is written, with NOT_COORDINATOR if the group is gone.
    """
    if not group.is_there:
        on_written(ErrorCode.not_coordinator, now_ms)  # deleted, or moved: the next coordinator tries again
        return
    states = group.states.end(call.partitions, are_ready=call.failure is None)
    if states == group.states:
        on_written(ErrorCode.none, now_ms)
        return
    changes = GroupChanges(group)
    changes.make(ShareKind.STATE_PARTITIONS, None, states)
    changes.write(now_ms, Cause("partitions_ready" if call.failure is None else "partitions_not_ready"), on_written)
