"""Members of classic groups in columns. Each distinct part of their metadata is parsed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.records.classic_groups import ClassicGroup, Who
from kohort.pipeline.records.offset_commits import Ints
from kohort.pipeline.silver.columns import constant, constant_number, integers
from kohort.pipeline.silver.silver_schemas import SCHEMAS
from kohort.protocol.consumer_protocol import (
    Assignment,
    ImpossibleLengthError,
    Subscription,
    read_assignment,
    read_subscription,
)

T = TypeVar("T")
# receives an unreadable blob with its record and the member id
Problem = Callable[["RecordPosition", str, bytes], None]


class RecordPosition(NamedTuple):
    """Position of a record in the offsets topic, and its time."""

    partition: int
    offset: int
    ts_ms: int


_KEPT = 20_000
_NOTHING = -1


class _Distinct:
    """Numbered distinct values in the order of their first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, thing: Hashable) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class ClassicMembers:
    """Collects the members of records into tables. Parsed subscriptions and assignments stay cached."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[Any, bytes], Any] = {}
        self._start()

    def _start(self) -> None:
        self._records: list[tuple[RecordPosition, str, str | None]] = []
        self._sizes: list[int] = []
        self._identities, self._subscriptions, self._assignments = _Distinct(), _Distinct(), _Distinct()
        self._members: list[tuple[int, int, int]] = []

    def add(self, at: RecordPosition, group_id: str, group: ClassicGroup) -> None:
        self._records.append((at, group_id, group.head["leader"]))
        self._sizes.append(len(group.members))
        who_is, subscribed, assigned = self._identities.number, self._subscriptions.number, self._assignments.number
        if group.head["protocolType"] == "consumer":
            self._members += [(who_is(w), subscribed(s), assigned(a)) for w, s, a in group.members]
        else:  # other protocols use these fields differently
            self._members += [(who_is(w), _NOTHING, _NOTHING) for w, _, _ in group.members]

    def take(self, cluster: str, rank: int, problem: Problem) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables of the members added since the last call."""
        if self._members:
            identity, subscription, assignment = np.array(self._members, np.int64).T
            subscriptions = self._read(read_subscription, self._subscriptions)
            assignments = self._read(read_assignment, self._assignments)
            record = np.repeat(np.arange(len(self._sizes), dtype=np.int64), self._sizes)
            self._problems(problem, record, identity, subscription, self._subscriptions, subscriptions)
            self._problems(problem, record, identity, assignment, self._assignments, assignments)
            common = self._common_columns(cluster, rank, record, identity)
            leaders = pa.array([leader for _, _, leader in self._records], pa.string()).take(pa.array(record))
            columns = common | {
                "is_leader": pc.fill_null(pc.equal(common["member_id"], leaders), False),
                "speaks": constant("classic", len(identity)),
                **_take_rows(_who_columns(list(self._identities)), identity),
                **_take_rows(_subscription_columns(subscriptions), subscription),
                **_take_rows({"assignment_user_data_bytes": _user_data_bytes(assignments)}, assignment),
            }
            yield "group_members", _table("group_members", columns, len(identity))
            assigned = [a.partitions if a else {} for a in assignments]
            owned = [s.owned_partitions if s else {} for s in subscriptions]
            yield from _parts(common, "assigned", assigned, assignment)
            yield from _parts(common, "owned_before", owned, subscription)
        self._start()

    def _common_columns(self, cluster: str, rank: int, record: Ints, identity: Ints) -> dict[str, pa.Array]:
        """Return the columns that all rows of a member share."""
        positions = np.array([at for at, _, _ in self._records], np.int64)
        return {
            "cluster": constant(cluster, len(identity)),
            "partition": integers(positions[record, 0], pa.int32()),
            "offset": integers(positions[record, 1], pa.int64()),
            "group_id": pa.array([group for _, group, _ in self._records], pa.string()).take(pa.array(record)),
            "member_id": pa.array([w.member_id for w in self._identities], pa.string()).take(pa.array(identity)),
            "rank": constant_number(rank, len(identity), pa.int8()),
        }

    def _problems(
        self, problem: Problem, record: Ints, identity: Ints, numbers: Ints, blobs: _Distinct, read: list[Any]
    ) -> None:
        bad = {n: blob for n, (blob, thing) in enumerate(zip(blobs, read, strict=True)) if blob and thing is None}
        for row in np.flatnonzero(np.isin(numbers, list(bad))).tolist() if bad else ():
            member: Who = list(self._identities)[identity[row]]
            problem(self._records[record[row]][0], member.member_id, bad[numbers[row]])

    def _read(self, read: Callable[[bytes], T | None], blobs: _Distinct) -> list[T | None]:
        """Parse blobs. An unreadable or empty blob, as of a member without an assignment, gives None."""
        result: list[T | None] = []
        for blob in blobs:
            name = read, blob
            if name not in self._parsed:
                if len(self._parsed) >= _KEPT:
                    self._parsed.clear()
                self._parsed[name] = _read(read, blob)
            result.append(self._parsed[name])
        return result


def _read(read: Callable[[bytes], T | None], blob: bytes) -> T | None:
    try:
        return read(blob) if blob else None
    except (ImpossibleLengthError, UnicodeDecodeError):
        return None


def _who_columns(members: list[Who]) -> dict[str, pa.Array]:
    return {
        "instance_id": pa.array([w.instance_id for w in members], pa.string()),
        "client_id": pa.array([w.client_id for w in members], pa.string()),
        "client_host": pa.array([w.client_host for w in members], pa.string()),
        "session_timeout_ms": pa.array([w.session_timeout for w in members], pa.int32()),
        "rebalance_timeout_ms": pa.array(
            [w.rebalance_timeout if w.rebalance_timeout >= 0 else w.session_timeout for w in members], pa.int32()
        ),
        "logical_client": pa.array(
            [w.instance_id or f"{w.client_id}@{w.client_host.lstrip('/')}" for w in members], pa.string()
        ),
    }


def _subscription_columns(subscriptions: list[Subscription | None]) -> dict[str, pa.Array]:
    return {
        "subscribed_topics": pa.array([list(s.topics) if s else None for s in subscriptions], pa.list_(pa.string())),
        "rack": pa.array([s.rack_id or None if s else None for s in subscriptions], pa.string()),
        "owned_generation": pa.array([s.generation_id if s else None for s in subscriptions], pa.int32()),
        "subscription_version": pa.array([s.version if s else None for s in subscriptions], pa.int16()),
        "subscription_user_data_bytes": _user_data_bytes(subscriptions),
    }


def _user_data_bytes(blobs: Sequence[Subscription | Assignment | None]) -> pa.Array:
    """Return the length of each user data: 0 if it is empty, null if it is null."""
    return pa.array([None if b is None or b.user_data is None else len(b.user_data) for b in blobs], pa.int32())


def _take_rows(columns: dict[str, pa.Array], numbers: Ints) -> dict[str, pa.Array]:
    indices = pa.array(numbers, mask=numbers < 0)
    return {name: column.take(indices) for name, column in columns.items()}


def _parts(
    common: dict[str, pa.Array], role: str, partitions_by_topic: Sequence[Mapping[str, tuple[int, ...]]], numbers: Ints
) -> Iterator[tuple[str, pa.Table]]:
    """Yield a row for each topic that a member has in this role."""
    counts = np.array([*map(len, partitions_by_topic), 0], np.int64)  # the last one is for missing subscriptions
    first, times = (np.cumsum(counts) - counts)[numbers], counts[numbers]
    total = int(times.sum())
    if not total:
        return
    member = pa.array(np.repeat(np.arange(len(numbers), dtype=np.int64), times))
    row = pa.array(np.repeat(first - (np.cumsum(times) - times), times) + np.arange(total, dtype=np.int64))
    topics = pa.array([topic for partitions in partitions_by_topic for topic in partitions], pa.string())
    parts = pa.array(
        [list(parts) for partitions in partitions_by_topic for parts in partitions.values()], pa.list_(pa.int32())
    )
    columns = {name: column.take(member) for name, column in common.items()}
    columns |= {"role": constant(role, total), "topic": topics.take(row), "parts": parts.take(row)}
    yield "member_partitions", _table("member_partitions", columns, total)


def _table(name: str, columns: dict[str, pa.Array], length: int) -> pa.Table:
    """Return a table in which missing columns are null."""
    schema = SCHEMAS[name]
    arrays = [columns[f.name] if f.name in columns else pa.nulls(length, f.type) for f in schema]
    return pa.table(arrays, schema=schema)
