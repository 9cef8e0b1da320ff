"""The registry of group types, one row each. Code that has to list the types, or to load the code of one, reads it.

Code of a type is named as `folder.module:name` and imported on first use: most brokers only have classic groups.
"""

from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from kohort.coordinator.groups.group import CLASSIC, CONSUMER, SHARE, STREAMS

GENERATION: Final = "generation"
EPOCH: Final = "epoch"
PARTITION: Final = "partition"
ACTIVE_TASK: Final = "active task"


class GroupType(NamedTuple):
    """One group type. Names are relative to this package; None means that the type has no such code."""

    name: str  # as in ListGroups and in the log
    record_types: Collection[int]  # types of its records in `__consumer_offsets`
    group_class: str  # subclass of `Group`
    event_source: str  # creates events of its groups; called with the `EventEmitter` of a coordinator
    view: str  # converts a group to a `GroupView`
    config: str | None = None  # class of a group's settings, with Kafka's defaults
    describe: str | None = None  # builds a group's entry in the response of its Describe API
    describes_errors: bool = True  # whether that response has a message if the partition is unavailable
    delete: str | None = None  # deletes an empty group; None: as in `deleting.py`, for classic groups
    forget_topic: str | None = None  # removes a deleted topic from the groups; None: they don't store topics
    # For the laboratory:
    states: tuple[str, ...] = ()  # as in the Describe API
    heartbeat: tuple[str, int] = ("", 0)  # API of members' heartbeats, with the version that a test's requests have
    # For its safety oracle:
    commits_under: str | None = None  # the version in members' commits; None: members don't commit
    owned: str | None = None  # what has one owner at a time; None: members share everything
    ownership_apis: Collection[str] = ()  # APIs that show what members own under epochs


GROUP_TYPES: Final = {
    group_type.name: group_type
    for group_type in (
        GroupType(
            name=CLASSIC,
            record_types=frozenset({2}),
            group_class="classic.classic_group:ClassicGroup",
            event_source="events.classic_event_source:ClassicEventSource",
            view="classic.classic_view:view_of",
            states=("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"),
            heartbeat=("Heartbeat", 4),
            commits_under=GENERATION,
            owned=PARTITION,
        ),
        GroupType(
            name=CONSUMER,
            record_types=frozenset((*range(3, 9), 16)),
            group_class="consumer.consumer_group:ConsumerGroup",
            event_source="events.consumer_event_source:ConsumerEventObserver",
            view="consumer.consumer_view:view_of",
            config="consumer.consumer_config:ConsumerConfig",
            describe="consumer.consumer_describing:described",
            describes_errors=False,
            delete="modern.group_deleting:delete_modern_group",
            states=("Empty", "Assigning", "Reconciling", "Stable"),
            heartbeat=("ConsumerGroupHeartbeat", 1),
            commits_under=EPOCH,
            owned=PARTITION,
            ownership_apis=("ConsumerGroupHeartbeat", "JoinGroup", "SyncGroup"),  # classic members join and sync
        ),
        GroupType(
            name=SHARE,
            record_types=range(10, 16),
            group_class="share.share_group:ShareGroup",
            event_source="events.share_event_source:ShareEventObserver",
            view="share.share_view:view_of",
            config="share.share_config:ShareConfig",
            describe="share.share_describing:described",
            delete="share.share_deleting:delete_share_group",
            forget_topic="share.share_topics:forget_topic",
            states=("Empty", "Stable"),
            heartbeat=("ShareGroupHeartbeat", 1),
        ),
        GroupType(
            name=STREAMS,
            record_types=range(17, 24),  # 18 is unused
            group_class="streams.streams_group:StreamsGroup",
            event_source="events.streams_event_source:StreamsEventObserver",
            view="streams.streams_view:view_of",
            config="streams.streams_config:StreamsConfig",
            describe="streams.streams_describing:described",
            delete="streams.streams_deleting:delete_streams_group",
            states=("Empty", "NotReady", "Assigning", "Reconciling", "Stable"),
            heartbeat=("StreamsGroupHeartbeat", 0),
            commits_under=EPOCH,
            owned=ACTIVE_TASK,
            ownership_apis=("StreamsGroupHeartbeat",),
        ),
    )
}

MODERN_TYPES: Final = tuple(group_type for group_type in GROUP_TYPES.values() if group_type.config is not None)


def find_types(matches: Callable[[GroupType], bool]) -> frozenset[str]:
    return frozenset(row.name for row in GROUP_TYPES.values() if matches(row))


@cache
def import_code(name: str) -> Any:
    """Import code that a row names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"kohort.coordinator.{module}"), attribute)


def default_configs() -> dict[str, Callable[[str], Any]]:
    """Return Kafka's default settings of groups, for each type that has some, as functions of the group id."""
    return {row.name: _defaults(row.config) for row in MODERN_TYPES if row.config is not None}


def _defaults(config: str) -> Callable[[str], Any]:
    return lambda group_id: import_code(config)()
