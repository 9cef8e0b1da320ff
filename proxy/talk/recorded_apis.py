"""Requests and responses in a conversation, and their recorded fields.

Everything that changes groups is recorded: joins, heartbeats, commits and leaves, and the requests that precede them.
Produce and Fetch are not, not even as a line: without records they could not be replayed, no group depends on them, and
a busy minute has a thousand of them for each relevant line. Neither is ListOffsets, because no log is recorded.
Read-only requests (ListGroups, Describe…) change nothing, and see groups outside of the conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kohort.control.request_facts import kafka_name
from kohort.groups.type_words import GROUP_TYPES
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.messages.find_coordinator import FindCoordinatorResponse
from kohort.protocol.messages.metadata import MetadataResponse
from kohort.protocol.shape import shape

RECORDED: Final = (
    "metadata",
    "offset_commit",
    "offset_fetch",
    "find_coordinator",
    "join_group",
    "heartbeat",
    "leave_group",
    "sync_group",
    "init_producer_id",
    "add_partitions_to_txn",
    "add_offsets_to_txn",
    "end_txn",
    "txn_offset_commit",
    "delete_groups",
    "offset_delete",
    *(f"{row.name}_group_heartbeat" for row in GROUP_TYPES.values() if row.has_epochs),
)  # names of the APIs in `api_keys.py`

NAME_BY_KEY: Final = {API_BY_NAME[name].key: name for name in RECORDED}
NAME_BY_KAFKAS: Final = {kafka_name(name): name for name in RECORDED}

LEFT_OUT: Final = frozenset(
    {
        "throttle_time_ms",
        "error_message",
        "committed_leader_epoch",
        "user_endpoint",
        "partitions_by_user_endpoint",
        "acceptable_recovery_lag",
        "acceptable_recovery_lag_legacy",
        "task_offset_interval_ms",
        "heartbeat_interval_ms",
        "include_topic_authorized_operations",
        "include_cluster_authorized_operations",
    }
)
"""Fields with addresses, broker settings, or a repetition of other fields."""

LEFT_OUT_ANSWER: Final = "left_out"  # field of a response that was too large or unreadable

# fields with payloads of clients, and whether they are bytes or text
PAYLOADS: Final = frozenset({"committed_metadata", "metadata", "assignment"})

KEPT: Final = frozenset({"partition_index", "committed_offset", "partition_indexes", "assignment"})
"""Fields that are recorded even with their default, because a list has no short form without them."""

MAX_TOPICS: Final = 1_000
"""Most topics of a response that are recorded: a request for all topics also returns unrelated ones."""


@shape
class KnownTopic:
    """Topic with the properties that groups depend on."""

    error_code: ErrorCode
    name: str | None = None
    topic_id: str | None = None
    partitions: int = 0  # their number


@shape
class KnownTopics:
    """Recorded part of a Metadata response, without brokers and leaders."""

    topics: tuple[KnownTopic, ...] = ()
    more: int = 0  # number of topics left out


@shape
class KnownCoordinator:
    """Whether there is a coordinator."""

    key: str = ""
    error_code: ErrorCode


@shape
class KnownCoordinators:
    """Recorded part of a FindCoordinator response, without the coordinator's address."""

    coordinators: tuple[KnownCoordinator, ...] = ()


def _topics(answer: MetadataResponse) -> KnownTopics:
    topics = [topic for topic in answer.topics if not topic.is_internal]
    return KnownTopics(
        topics=tuple(
            KnownTopic(
                error_code=topic.error_code,
                name=topic.name,
                topic_id=None if topic.topic_id is None else str(topic.topic_id),
                partitions=len(topic.partitions),
            )
            for topic in topics[:MAX_TOPICS]
        ),
        more=max(len(topics) - MAX_TOPICS, 0),
    )


def _coordinators(answer: FindCoordinatorResponse) -> KnownCoordinators:
    return KnownCoordinators(
        coordinators=tuple(
            KnownCoordinator(key=coordinator.key, error_code=coordinator.error_code)
            for coordinator in answer.coordinators
        )
    )


_REDUCED: Final[dict[str, tuple[type, Callable[[Any], Any]]]] = {
    "metadata": (KnownTopics, _topics),
    "find_coordinator": (KnownCoordinators, _coordinators),
}  # shapes of reduced responses, and functions that create them


def recorded_answer(api: str) -> tuple[type, Callable[[Any], Any]]:
    """Return the shape of an API's recorded responses, and the function that creates it from a response."""
    return _REDUCED.get(api) or (message_of(api).response, lambda answer: answer)
