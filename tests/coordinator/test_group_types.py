"""The registry of group types agrees with the code that it names."""

from enum import Enum

import pytest

from kohort.control.request_facts import kafka_name
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.groups.group import CLASSIC, CONSUMER, SHARE, STREAMS
from kohort.coordinator.groups.group_types import GROUP_TYPES, MODERN_TYPES, GroupType, default_configs, import_code
from kohort.coordinator.share.share_group_state import ShareGroupState
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.protocol.api_keys import APIS
from kohort.protocol.records.layouts import CONSUMER_OFFSETS

STATES: dict[str, type[Enum]] = {
    CLASSIC: State,
    CONSUMER: GroupState,
    SHARE: ShareGroupState,
    STREAMS: StreamsGroupState,
}
ROWS = pytest.mark.parametrize("row", GROUP_TYPES.values(), ids=GROUP_TYPES)
MODERN = pytest.mark.parametrize("row", MODERN_TYPES, ids=[row.name for row in MODERN_TYPES])


@ROWS
def test_named_code_exists(row: GroupType) -> None:
    names = row.group_class, row.event_source, row.view, row.config, row.describe, row.delete, row.forget_topic
    assert all(callable(import_code(name)) for name in names if name is not None)
    assert import_code(row.group_class).group_type == row.name


@MODERN
def test_record_types_are_those_of_group(row: GroupType) -> None:
    group_class = import_code(row.group_class)
    assert set(group_class.kinds) <= set(row.record_types)
    assert set(group_class.kinds) <= set(CONSUMER_OFFSETS.keys)


@ROWS
def test_states_are_those_of_group(row: GroupType) -> None:
    assert row.states == tuple(state.value for state in STATES[row.name])


@ROWS
def test_apis_exist(row: GroupType) -> None:
    api, version = row.heartbeat
    apis = {kafka_name(spec.name): spec for spec in APIS}
    assert apis[api].min_version <= version <= apis[api].max_version
    assert set(row.ownership_apis) <= set(apis)


def test_each_record_type_has_one_row() -> None:
    record_types = [record_type for row in GROUP_TYPES.values() for record_type in row.record_types]
    assert len(record_types) == len(set(record_types))


@MODERN
def test_default_settings_are_created(row: GroupType) -> None:
    config = default_configs()[row.name]("g")
    assert config.session_timeout_ms > config.heartbeat_interval_ms
