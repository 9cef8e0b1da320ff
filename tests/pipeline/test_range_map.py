"""Ranges of offsets with values, against a dictionary of single offsets."""

from __future__ import annotations

import random

from kohort.pipeline.history.range_map import OffsetRange, RangeMap


def test_assignment_cuts_overlapping_ranges() -> None:
    ranges: RangeMap[str] = RangeMap()
    ranges.put(0, 9, "a")
    ranges.put(20, 29, "b")
    assert ranges.take(5, 24) == [OffsetRange(5, 9, "a"), OffsetRange(20, 24, "b")]
    assert list(ranges) == [OffsetRange(0, 4, "a"), OffsetRange(25, 29, "b")]
    assert ranges.take(2, 2) == [OffsetRange(2, 2, "a")]
    assert [(offset_range.first, offset_range.last, offset_range.records) for offset_range in ranges] == [
        (0, 1, 2),
        (3, 4, 2),
        (25, 29, 5),
    ]


def test_lookup_outside_known_ranges() -> None:
    ranges: RangeMap[str] = RangeMap()
    ranges.put(3, 4, "a")
    ranges.put(7, 9, "b")
    assert list(ranges.pieces(0, 8)) == [
        OffsetRange(0, 2, None), OffsetRange(3, 4, "a"), OffsetRange(5, 6, None), OffsetRange(7, 8, "b")
    ]  # fmt: skip
    assert list(ranges.pieces(100, 101)) == [OffsetRange(100, 101, None)]


def test_equals_a_dictionary() -> None:
    for seed in range(200):
        chance, ranges, offsets = random.Random(seed), RangeMap[int](), dict[int, int]()
        for step in range(60):
            first = chance.randrange(40)
            last = first + chance.randrange(12)
            for piece in ranges.pieces(first, last):
                for offset in range(piece.first, piece.last + 1):
                    assert offsets.pop(offset, None) == piece.value, (seed, step)
            if chance.random() < 0.7:
                ranges.put(first, last, step)
                offsets |= dict.fromkeys(range(first, last + 1), step)
            assert {
                n: offset_range.value
                for offset_range in ranges
                for n in range(offset_range.first, offset_range.last + 1)
            } == offsets, (seed, step)
            assert [offset_range.first for offset_range in ranges] == sorted(
                offset_range.first for offset_range in ranges
            )
