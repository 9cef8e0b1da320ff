"""Other names for the groups and transactional ids of a conversation."""

from __future__ import annotations

from typing import Final

from kohort.proxy.talk.talk_values import Value

_GROUP_FIELDS: Final = frozenset({"group_id", "transactional_id", "v3_and_below_transactional_id"})
_GROUP_LISTS: Final = frozenset({"groups_names", "coordinator_keys"})


def renamed(values: Value, suffix: str) -> Value:
    """Return the values with a suffix appended to names of groups and transactional ids."""
    if isinstance(values, list):
        return [renamed(item, suffix) for item in values]
    if not isinstance(values, dict):
        return values
    return {name: _renamed(name, value, suffix) for name, value in values.items()}


def _renamed(name: str, value: Value, suffix: str) -> Value:
    if name in _GROUP_FIELDS and isinstance(value, str) and value:
        return value + suffix
    if name in _GROUP_LISTS and isinstance(value, list):
        return [str(item) + suffix for item in value]
    if name == "coordinators" and isinstance(value, list):
        return [item | {"key": item["key"] + suffix} if item.get("key") else item for item in value]
    return renamed(value, suffix)
