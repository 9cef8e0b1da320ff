"""Initialization of share-group states for the partitions of subscribed topics (share-groups §4).

The heartbeat that finds missing partitions writes them as initializing. After that write the share coordinators are
called. A failure is not reported to members: a later heartbeat tries again.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from math import inf
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.share.persister import OnOutcomes
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_calls import StateCall, call_in_slices
from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode

OFFSETS_WRITE_TIMEOUT_MS = 5_000  # timeout of a write to the offsets topic; a retry waits at least as long

TO_BE_DECIDED = -1  # start offset that makes `share.auto.offset.reset` decide

Missing = Mapping[UUID, tuple[str, frozenset[int]]]  # name and partitions by topic id


class Beginning(NamedTuple):
    """Partitions to initialize after the write of a heartbeat."""

    missing: Missing
    state_epoch: int  # the group epoch at which they were found missing
    from_start: AbstractSet[UUID]  # topics whose partitions start at offset 0


def _ignore_result(error: ErrorCode, now_ms: int) -> None:
    """Ignore the result: a failed write was undone, and the initialization is retried after the retry interval."""


def find_missing(group: ShareGroup, now_ms: int) -> Missing:
    """Find partitions of subscribed topics that are not initialized, and not initializing within the retry interval."""
    version = group.coordinator.topics.version
    if group.complete_version == version and now_ms < group.complete_until_ms:
        return {}
    retry_ms = group.coordinator.settings.group_share_initialize_retry_interval_ms
    retry_ms = max(retry_ms, OFFSETS_WRITE_TIMEOUT_MS)
    missing_topics: dict[UUID, tuple[str, frozenset[int]]] = {}
    for topic in map(group.coordinator.topics.by_name, sorted(group.names)):
        if topic is not None and len(group.states.ready(topic.topic_id)) < topic.partitions:
            covered = group.states.covered(topic.topic_id, now_ms - retry_ms)
            # Kafka compares the numbers, which differ if a partition is missing, but not always with negative ones.
            if len(covered) < topic.partitions:
                missing_topics[topic.topic_id] = topic.name, frozenset(range(topic.partitions)) - covered
    if not missing_topics:
        begun_ms = min((topic.since_ms for topic in group.states.initializing.values()), default=inf)
        group.complete_version, group.complete_until_ms = version, begun_ms + retry_ms
    return missing_topics


def begin(group: ShareGroup, changes: GroupChanges, missing: Missing, now_ms: int) -> Beginning:
    """Write partitions as initializing, and return how their states begin.

    As of Kafka 4.4, partitions start at offset 0 if others of their topic are initialized or initializing.
    """
    states, rules = group.states, group.coordinator.settings.rules
    known_ids = states.initialized.keys() | states.initializing.keys()
    from_start = known_ids & missing.keys() if rules.reads_new_partitions_from_start else frozenset()
    changes.make(ShareKind.STATE_PARTITIONS, None, states.begin(missing, now_ms))
    return Beginning(missing, group.epoch, from_start)


def initialize_missing(group: ShareGroup, beginning: Beginning, now_ms: int) -> None:
    """Call the share coordinators to initialize partitions."""
    missing, state_epoch, from_start = beginning
    partitions = ((topic_id, partition) for topic_id, (_, numbers) in missing.items() for partition in sorted(numbers))
    persister = group.coordinator.share_persister()

    def initialize(partitions: list[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int) -> None:
        beginnings = {key: (state_epoch, 0 if key[0] in from_start else TO_BE_DECIDED) for key in partitions}
        persister.initialize(group.group_id, beginnings, on_outcomes, now_ms)

    call_in_slices(group, StateCall(partitions, initialize, partial(note_outcome, group)), now_ms)


def note_outcome(group: ShareGroup, call: StateCall, now_ms: int, on_written: OnWritten = _ignore_result) -> None:
    """Mark the partitions of a call as initialized; after an error mark none of them, so that all are retried.

    Args:
        on_written: Called after the write, or with NOT_COORDINATOR if the group does not exist any more.
    """
    if not group.is_there:
        on_written(ErrorCode.not_coordinator, now_ms)  # deleted, or moved to a coordinator that tries again
        return
    states = group.states.end(call.partitions, are_ready=call.failure is None)
    if states == group.states:
        on_written(ErrorCode.none, now_ms)
        return
    changes = GroupChanges(group)
    changes.make(ShareKind.STATE_PARTITIONS, None, states)
    changes.write(now_ms, Cause("partitions_ready" if call.failure is None else "partitions_not_ready"), on_written)
