"""Memory of observed groups, and the choice of groups to forget when there is too much."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from sys import getsizeof
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from kohort.proxy.observed.epoch_protocols import EpochProtocol
from kohort.proxy.observed.observed_group import Traffic
from kohort.proxy.tap import Line

if TYPE_CHECKING:
    from kohort.proxy.observed.observed_group import ObservedGroup

MAX_GROUPS: Final = 10_000  # observed groups that are kept; those that were silent longest are forgotten

MAX_GROUPS_BYTES: Final = 64 << 20
"""Memory of all groups. Beyond it, the groups that were silent longest are forgotten."""

MAX_GROUP_BYTES: Final = 16 << 20
"""Memory of one group. A larger one is forgotten, and added again by its next message."""

MIN_READ_BYTES: Final = 16 << 10  # bytes read of a group before its memory is measured again

NEW_GROUP_BYTES: Final = 8 << 10  # memory of a group of which little was read

READ_FACTOR: Final = 4  # memory of a message that was read, relative to its bytes, until that is measured

_MAPPINGS: Final = (dict,)
_SEQUENCES: Final = (list, tuple, set, frozenset, deque)
_SHARED: Final = (Traffic, EpochProtocol, Line, Enum, type, FunctionType, MethodType, BuiltinFunctionType)
"""Values that belong to the proxy or the program, not to one group."""


def size_of(value: Any) -> int:
    """Return the bytes of an object and of everything that it refers to, without what all groups share."""
    seen_ids: set[int] = set()
    pending, size = [value], 0
    while pending:
        item = pending.pop()
        if item is None or isinstance(item, _SHARED) or id(item) in seen_ids:
            continue
        seen_ids.add(id(item))
        size += getsizeof(item)
        if isinstance(item, str | bytes | int | float):
            continue
        if isinstance(item, _MAPPINGS):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, _SEQUENCES):
            pending += item
        else:
            pending += _attributes(item)
    return size


def _attributes(value: Any) -> list[Any]:
    attributes = list(getattr(value, "__dict__", {}).values())
    for item in type(value).__mro__:
        slots = item.__dict__.get("__slots__", ())
        attributes += [getattr(value, name, None) for name in ((slots,) if isinstance(slots, str) else slots)]
    return attributes


def _estimated_bytes(group: ObservedGroup) -> int:
    return group.measured_bytes + READ_FACTOR * group.read_bytes


class GroupMemory:
    """Memory of all observed groups.

    It is estimated from the bytes of the messages that are read, and measured again when a group may have doubled.
    """

    def __init__(self, groups: Mapping[str, Any]) -> None:
        """Create the account of a dictionary of groups (`ObservedGroup`) by id, which the caller changes."""
        self._groups = groups
        self._bytes = 0
        self._is_one_too_large = False

    def _is_exceeded(self) -> bool:
        return self._bytes > MAX_GROUPS_BYTES or len(self._groups) > MAX_GROUPS or self._is_one_too_large

    def add(self, group: ObservedGroup) -> None:
        group.measured_bytes = NEW_GROUP_BYTES + len(group.group_id)
        self._bytes += group.measured_bytes

    def remove(self, group: ObservedGroup) -> None:
        self._bytes -= _estimated_bytes(group)
        group.measured_bytes = group.read_bytes = 0

    def count(self, group: ObservedGroup, read_bytes: int) -> None:
        """Count a parsed message about a group."""
        group.read_bytes += read_bytes
        self._bytes += READ_FACTOR * read_bytes
        if group.read_bytes > MIN_READ_BYTES and READ_FACTOR * group.read_bytes > group.measured_bytes:
            self._bytes -= _estimated_bytes(group)
            group.measured_bytes, group.read_bytes = size_of(group), 0
            self._bytes += group.measured_bytes
            self._is_one_too_large = self._is_one_too_large or group.measured_bytes > MAX_GROUP_BYTES

    def excess(self) -> list[Any]:
        """Return the groups to forget: those that are too large, and those that were silent longest.

        Of the latter enough to free a tenth of the limits.
        """
        if not self._is_exceeded():
            return []
        self._is_one_too_large = False
        large = [group for group in self._groups.values() if group.measured_bytes > MAX_GROUP_BYTES]
        by_age = sorted(self._groups.values(), key=lambda group: group.active_us)
        bytes_left = self._bytes - sum(map(_estimated_bytes, large))
        if bytes_left <= MAX_GROUPS_BYTES and len(by_age) <= MAX_GROUPS:
            return large
        most_bytes, most_groups, count = MAX_GROUPS_BYTES - MAX_GROUPS_BYTES // 10, MAX_GROUPS - MAX_GROUPS // 10, 0
        while count < len(by_age) and (bytes_left > most_bytes or len(by_age) - count > most_groups):
            bytes_left -= _estimated_bytes(by_age[count])
            count += 1
        return [*large, *(group for group in by_age[:count] if group not in large)]
