"""Commits of a group in pieces: whatever the order they come in, the same columns for each partition."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kohort.pipeline.history.commit_history import CommitHistory, distinct
from kohort.pipeline.history.commit_pieces import COMMIT_COLUMNS, CommitPieces
from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.silver.silver_schemas import SCHEMAS

SCHEMA = pa.schema([SCHEMAS["offset_commits"].field(name) for name in COMMIT_COLUMNS])
Row = dict[str, object]


def row(offset: int, place: TopicPartition = ("t", 0), committed: int = 0, **more: object) -> Row:
    topic, part = place
    return {
        "partition": 3, "offset": offset, "ts_ms": 1_000 + offset, "topic": topic, "part": part,
        "committed_offset": committed, "is_tombstone": False, "rank": 0, **more,
    }  # fmt: skip


def piece(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def columns(pieces: list[pa.Table]) -> dict[TopicPartition, tuple[list[int], list[int], list[int], int]]:
    found = CommitPieces(pieces).by_partition()
    return {
        place: (each.ts_ms.tolist(), each.committed.tolist(), each.gone_ms.tolist(), each.expiring)
        for place, each in found.items()
    }


def test_no_commits() -> None:
    assert columns([]) == columns([piece()]) == {}


def test_partitions_of_topics_in_order() -> None:
    rows = [row(n, place, 10 * n) for n, place in enumerate([("b", 1), ("a", 7), ("b", 0), ("b", 1), ("a", 7)])]
    expected: dict[TopicPartition, tuple[list[int], list[int], list[int], int]] = {
        ("a", 7): ([1_001, 1_004], [10, 40], [], 0),
        ("b", 0): ([1_002], [20], [], 0),
        ("b", 1): ([1_000, 1_003], [0, 30], [], 0),
    }
    whole, apart = columns([piece(*rows)]), columns([piece(*rows[2:]), piece(*rows[:2])])
    assert whole == apart == expected
    assert list(whole) == sorted(expected)


def test_tombstones_and_retention() -> None:
    found = columns([piece(row(1), row(2, is_tombstone=True), row(3, expire_ts_ms=99))])
    assert found == {("t", 0): ([1_001, 1_003], [0, 0], [1_002], 1)}


def test_partition_with_only_tombstones() -> None:
    assert columns([piece(row(1, is_tombstone=True))]) == {("t", 0): ([], [], [1_001], 0)}


def test_overlapping_sources_count_once() -> None:
    pieces = [piece(row(1, rank=2, committed=5), row(2, rank=2, committed=6)), piece(row(1, rank=1, committed=7))]
    for order in (pieces, pieces[::-1]):
        taken = CommitPieces(order)
        assert taken.conflicts == 1
        (commits,) = taken.by_partition().values()
        assert commits.committed.tolist() == [7, 6]


def test_aborted_and_pending_transactions() -> None:
    taken = CommitPieces([piece(row(1, txn="aborted"), row(2, txn="committed"), row(3, txn="pending"), row(4))])
    assert taken.undone == 2
    (commits,) = taken.by_partition().values()
    assert commits.ts_ms.tolist() == [1_002, 1_004]


def test_damaged_record_with_invalid_partition() -> None:
    assert list(columns([piece(row(1, ("t", -1)), row(2, ("t", 2**31 - 1)))])) == [("t", -1), ("t", 2**31 - 1)]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 99)), max_size=40),
    st.lists(st.integers(0, 40), max_size=4),
    st.randoms(use_true_random=False),
)
def test_however_they_are_cut(commits: list[tuple[str, int, int]], cuts: list[int], chance: random.Random) -> None:
    rows = [row(n, (topic, part), committed) for n, (topic, part, committed) in enumerate(commits)]
    edges = [0, *sorted(cuts), len(rows)]
    pieces = [piece(*rows[a:b]) for a, b in itertools.pairwise(edges)]
    chance.shuffle(pieces)
    assert columns(pieces) == columns([piece(*rows)])


@given(st.lists(st.lists(st.integers(-5, 5), max_size=8), max_size=4))
def test_distinct_values(parts: list[list[int]]) -> None:
    found = distinct([np.array(part, np.int64) for part in parts])
    assert found.tolist() == sorted({value for part in parts for value in part})


def test_monotonic_partition_stores_times_once() -> None:
    # each column of a group with fifty million commits takes 400 MB
    commits = CommitPieces([piece(*(row(n, committed=n) for n in range(10)))]).by_partition()
    history = CommitHistory.of(GroupInput("g", commits=commits), [])
    partition = history.partitions[("t", 0)]
    assert partition.sorted_ms is partition.commits.ts_ms
    assert np.shares_memory(partition.moved_ms, partition.commits.ts_ms)
