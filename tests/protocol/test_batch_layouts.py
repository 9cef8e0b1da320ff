"""Cached layouts read the same keys and values as the decoder."""

from __future__ import annotations

from random import Random

import pytest

from kohort.protocol.batch_layouts import MAX_LAYOUTS, MAX_RECORDS, BatchLayouts
from kohort.protocol.batches import Record, build_batch, keys_and_values, read_batch


def read_with(layouts: BatchLayouts, batch: bytes) -> list[tuple[bytes | None, bytes | None]] | None:
    data = b"before" + batch
    pairs = layouts.read(data, read_batch(data, 6))
    return None if pairs is None else list(zip(*pairs, strict=True))


def batch_of(*pairs: tuple[bytes | None, bytes | None]) -> bytes:
    return build_batch([Record(key, value, 1_000) for key, value in pairs])


@pytest.mark.parametrize("seed", range(20))
def test_layouts_equal_decoder(seed: int) -> None:
    chance, layouts, hits = Random(seed), BatchLayouts(), 0
    for _ in range(300):
        pairs: list[tuple[bytes | None, bytes | None]] = []
        size = chance.choice((1, 2, 70))
        for _ in range(chance.choice((1, 2, 3))):
            key = None if chance.random() < 0.02 else chance.randbytes(chance.choice((0, 3, size)))
            value = None if chance.random() < 0.05 else chance.randbytes(chance.choice((0, 3, size)))
            pairs.append((key, value))
        headers = (("name", b""),) if chance.random() < 0.1 else ()
        records = [Record(key, value, chance.choice((1_000, 1_001)), headers) for key, value in pairs]
        batch = build_batch(records, base_offset=chance.choice((0, 7)))
        read = read_with(layouts, batch)
        assert read is None or read == pairs == keys_and_values(batch, read_batch(batch))
        hits += read is not None
    assert hits > 20


def test_second_batch_uses_layout() -> None:
    layouts = BatchLayouts()
    assert read_with(layouts, batch_of((b"a", b"1"), (b"b", b"2"))) is None
    assert read_with(layouts, batch_of((b"c", b"3"), (b"d", b"4"))) == [(b"c", b"3"), (b"d", b"4")]
    assert read_with(layouts, batch_of((b"ef", b""), (b"g", b"5"))) is None  # of the same size


def test_long_batches_are_not_cached() -> None:
    layouts = BatchLayouts()
    for batch in (batch_of(*[(b"k", b"v")] * (MAX_RECORDS + 1)), batch_of((b"k", bytes(8_192)))):
        assert [read_with(layouts, batch) for _ in range(3)] == [None] * 3


def test_number_of_layouts_is_limited() -> None:
    layouts = BatchLayouts()
    for size in range(MAX_LAYOUTS + 10):
        read_with(layouts, batch_of((b"k", bytes(size))))
    assert len(layouts._layouts) <= MAX_LAYOUTS
