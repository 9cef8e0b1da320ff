"""States of records: newer ranges over older ones, compared with the state of each offset."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, StateBatch, StateBatches, combine, merge_into

BATCHES = st.lists(
    st.builds(
        lambda first, length, state, count: StateBatch(first, first + length, state, count),
        st.integers(0, 30),
        st.integers(0, 8),
        st.sampled_from([0, 2, 4]),
        st.integers(0, 3),
    ),
    max_size=12,
)
STARTS = st.integers(UNKNOWN_OFFSET, 40)


def by_offset(batches: Sequence[StateBatch], start_offset: int) -> dict[int, tuple[int, int]]:
    """Return the effective count and state of each offset."""
    known: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for offset in range(max(batch.first_offset, start_offset), batch.last_offset + 1):
            known[offset] = max(known.get(offset, (-1, -1)), (batch.delivery_count, batch.delivery_state))
    return known


def is_combined(batches: Sequence[StateBatch]) -> bool:
    """Return whether batches are in order, disjoint, and cannot be combined further."""
    return all(
        one.last_offset < other.first_offset and (one.last_offset + 1 < other.first_offset or one[2:] != other[2:])
        for one, other in pairwise(batches)
    )


@given(BATCHES, STARTS)
def test_highest_priority_state_wins(batches: list[StateBatch], start_offset: int) -> None:
    combined = combine(batches, start_offset)
    assert by_offset(combined, UNKNOWN_OFFSET) == by_offset(batches, start_offset)
    assert is_combined(combined)


@given(BATCHES, BATCHES, STARTS)
def test_merging_is_combining_all(older: list[StateBatch], newer: list[StateBatch], start_offset: int) -> None:
    batches = combine(older, UNKNOWN_OFFSET)
    merge_into(batches, StateBatches.of(newer), start_offset)
    assert batches == combine([*older, *newer], start_offset)


@given(BATCHES, STARTS)
def test_combining_columns_equals_combining_tuples(batches: list[StateBatch], start_offset: int) -> None:
    in_order = sorted(batches)
    for sequence in (batches, in_order, combine(batches, UNKNOWN_OFFSET)):
        assert combine(StateBatches.of(sequence), start_offset) == combine(list(sequence), start_offset)


def test_specification_example() -> None:
    assert combine([StateBatch(0, 9, 2, 1), StateBatch(5, 14, 0, 2)], UNKNOWN_OFFSET) == [
        StateBatch(0, 4, 2, 1),
        StateBatch(5, 14, 0, 2),
    ]


def test_inverted_batch_is_dropped() -> None:
    assert combine([StateBatch(5, 4, 2, 1), StateBatch(7, 7, 2, 1)], UNKNOWN_OFFSET) == [StateBatch(7, 7, 2, 1)]
