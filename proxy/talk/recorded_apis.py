"""Which requests and answers a conversation holds, and what of them.

What makes a group is recorded: who joins, beats, commits and leaves, and who is asked for before. Produce and Fetch
are not, not even as a line: without their records neither could be played, nothing in a group depends on them, and a
busy minute has a thousand of them for each line that matters. Nobody's log is in it either, so neither is ListOffsets.
Whoever only looks (ListGroups, Describe…) changes nothing, and sees groups that are not in the conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kohort.control.request_facts import kafka_name
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
    "consumer_group_heartbeat",
    "share_group_heartbeat",
    "streams_group_heartbeat",
)
"""The APIs, by their names in `api_keys.py`."""

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
"""Fields that say where somebody is, what a broker's settings are, or the same once more in words of its own."""

LEFT_OUT_ANSWER: Final = "left_out"
"""A field of an answer that was too large, or could not be read."""

PAYLOADS: Final = frozenset({"committed_metadata", "metadata", "assignment"})
"""Fields with payloads of clients, where they are bytes or text."""

KEPT: Final = frozenset({"partition_index", "committed_offset", "partition_indexes", "assignment"})
"""Fields that are told also where they have their default: without them a list has no short form."""

TOPICS_AT_MOST: Final = 1_000
"""How many topics of an answer are recorded: a client that asks for all topics is told of those of others, too."""


@shape
class KnownTopic:
    """A topic, as far as groups depend on it."""

    error_code: ErrorCode
    name: str | None = None
    topic_id: str | None = None
    partitions: int = 0
    """How many it has."""


@shape
class KnownTopics:
    """What is recorded of a Metadata answer: brokers and leaders are where they are."""

    topics: tuple[KnownTopic, ...] = ()
    more: int = 0
    """How many topics were left out."""


@shape
class KnownCoordinator:
    """Whether there is a coordinator."""

    key: str = ""
    error_code: ErrorCode


@shape
class KnownCoordinators:
    """What is recorded of a FindCoordinator answer: the coordinator is where it is."""

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
            for topic in topics[:TOPICS_AT_MOST]
        ),
        more=max(len(topics) - TOPICS_AT_MOST, 0),
    )


def _coordinators(answer: FindCoordinatorResponse) -> KnownCoordinators:
    return KnownCoordinators(
        coordinators=tuple(KnownCoordinator(key=each.key, error_code=each.error_code) for each in answer.coordinators)
    )


_REDUCED: Final[dict[str, tuple[type, Callable[[Any], Any]]]] = {
    "metadata": (KnownTopics, _topics),
    "find_coordinator": (KnownCoordinators, _coordinators),
}
"""Answers of which little is recorded: in which shape, and how it is made."""


def recorded_answer(api: str) -> tuple[type, Callable[[Any], Any]]:
    """The shape of what is recorded of an API's answers, and what makes it of one."""
    return _REDUCED.get(api) or (message_of(api).response, lambda answer: answer)
