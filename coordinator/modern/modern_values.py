"""What the log keeps of groups of every newer protocol, as values, which are never changed."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

Target = Mapping[UUID, frozenset[int]]
"""Partitions by topic."""

Record = tuple[bytes, bytes | None]
"""Key and value; None deletes."""

CommittedPartition = tuple[str, UUID | None, int]
"""A partition that is committed: its topic's name and id, and its index."""

NO_TARGET: dict[UUID, frozenset[int]] = {}


class Change(NamedTuple):
    """One record: what it is about, and what is so from now on. `name`: a member or a pattern; None: the group.

    `kind`: one of the protocol's kinds of records. `value` None deletes.
    """

    kind: IntEnum
    name: str | None
    value: Any


class GroupEpoch(NamedTuple):
    """The version of what members want, and the hash of the topics they subscribe to (0: none)."""

    epoch: int
    metadata_hash: int = 0


class TargetEpoch(NamedTuple):
    """The group epoch that the target was computed for, and when that was done: wall clock, 0 where it is not known."""

    epoch: int
    timestamp_ms: int = 0
