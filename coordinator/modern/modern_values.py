"""Values that the log stores for groups of all newer protocols. They are never modified."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

Target = Mapping[UUID, frozenset[int]]  # partitions by topic

Record = tuple[bytes, bytes | None]  # key and value; None deletes

CommittedPartition = tuple[str, UUID | None, int]  # topic name, topic ID and partition of a commit

LEAVING_EPOCH = -1
STATIC_LEAVING_EPOCH = -2  # a static member leaves temporarily; it has this epoch until it returns

NO_TARGET: dict[UUID, frozenset[int]] = {}


class Change(NamedTuple):
    """One record: its subject and the new value.

    `kind` is one of the protocol's record types, and `name` a member ID or a pattern, or None for the group itself. The
    `value` None deletes.
    """

    kind: IntEnum
    name: str | None
    value: Any


class GroupEpoch(NamedTuple):
    """The version of the subscriptions, and the hash of the subscribed topics (0 without topics)."""

    epoch: int
    metadata_hash: int = 0


class TargetEpoch(NamedTuple):
    """The group epoch of the target, and the wall clock of its computation (0 if unknown)."""

    epoch: int
    timestamp_ms: int = 0
