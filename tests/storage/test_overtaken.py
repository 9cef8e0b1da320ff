"""What a compaction drops at a glance is what it drops when it takes batches apart."""

from __future__ import annotations

from random import Random

import pytest

from kohort.storage.batch_records import Newest
from kohort.storage.compaction import Compaction
from kohort.storage.overtaken import MOST_RECORDS, SHAPES, Overtaken
from tests.storage.odd_batches import record
from tests.support.batches import Pair, batch, result_of, split
from tests.support.effort import EFFORT

CHUNK_BATCHES = 300


def a_log(random: Random) -> list[bytes]:
    """Build commits of a few groups, repeated, and other records of a compacted topic."""
    groups = [[b"group-%d topic %d" % (group, number) for number in range(random.randint(1, 8))] for group in range(5)]
    batches = []
    for number in range(CHUNK_BATCHES):
        keys = random.choice(groups)
        if random.random() < 0.1:
            keys = random.sample(keys, random.randint(1, len(keys)))
        pairs: list[Pair] = [(key, _value(random)) for key in keys]
        if random.random() < 0.05:
            pairs.append((None, b"without a key"))
        if random.random() < 0.02:
            pairs.append((b"new %d" % number, b"x"))
        made = batch(*pairs, base_offset=number * 10, attributes=int(random.random() < 0.05))
        batches.append(_damaged(random, made) if random.random() < 0.1 else made)
    return batches


def _value(random: Random) -> bytes | None:
    return None if random.random() < 0.1 else random.randbytes(random.choice((12, 12, 12, 0, 40, 200)))


def _damaged(random: Random, whole: bytes) -> bytes:
    at = random.randrange(61, len(whole))
    return whole[:at] + bytes((whole[at] ^ 1 << random.randrange(8),)) + whole[at + 1 :]


def has(overtaken: Overtaken, records: bytes) -> bool:
    """Return the facts about records that do not depend on their position."""
    told = overtaken.is_overtaken(records, 0, len(records))
    for around in (b"", b"\0", b"\x06key", records):
        assert overtaken.is_overtaken(around + records + around, len(around), len(around + records)) == told
    return told


@pytest.mark.parametrize("seed", range(EFFORT.walks))
def test_shortcut_equals_full_decoding(seed: int) -> None:
    chunk = b"".join(a_log(Random(seed)))
    quick, thorough = Compaction(0, 1_000), Compaction(0, 1_000)
    thorough._overtaken = Overtaken(())  # it finds nothing overtaken
    for _ in range(2):  # a second chunk, older than the first: nearly all of it has been overtaken
        assert result_of(quick.compact(chunk)) == result_of(thorough.compact(chunk))
    assert quick.unsafe == thorough.unsafe
    assert quick.effort < thorough.effort


@pytest.mark.parametrize("seed", range(EFFORT.walks))
def test_overtaken_batch_has_no_other_key(seed: int) -> None:
    random = Random(seed)
    batches = a_log(random)
    seen = {b"group-%d topic %d" % (group, number) for group in range(5) for number in range(random.randint(1, 8))}
    overtaken = Overtaken(seen)
    said = 0
    for whole in split([b"".join(batches)]):
        records = bytes(whole[61:])
        if has(overtaken, records):
            newest = Newest(records, ())
            result_of(newest.find())
            assert set(newest.by_key) <= seen
            said += 1
    assert said


def test_cache_is_bounded() -> None:
    seen = {b"%d" % n for n in range(SHAPES + 10)}
    overtaken = Overtaken(seen)
    for number in range(SHAPES + 10):
        pair = b"".join(record(n, b"%d" % number, b"v") for n in range(2))
        assert has(overtaken, pair) == (number < SHAPES)
        assert has(overtaken, record(0, b"1", bytes(number))), "the only record"
    assert len(overtaken._firsts) <= SHAPES
    assert not has(Overtaken(seen), b"".join(record(n, b"1", bytes(200)) for n in range(50)))
    for count in (MOST_RECORDS, MOST_RECORDS + 1):
        many = b"".join(record(n, b"1", b"") for n in range(count))
        assert has(Overtaken(seen), many) == (count == MOST_RECORDS)


WITHOUT_VALUE = b"\x0e\0\0\0\x06key"
VALUE_SIZE_CUT_SHORT = b"\x10\0\0\0\x06key\x80"


@pytest.mark.parametrize(
    "records",
    [b"", b"\x02", b"\xff" * 7, record(0, None, b"v"), WITHOUT_VALUE, VALUE_SIZE_CUT_SHORT],
)
def test_undecidable_batches_are_decoded(records: bytes) -> None:
    assert not has(Overtaken({b"key", b""}), records)


def test_different_record_layout_is_decoded() -> None:
    overtaken = Overtaken({b"key", b"longer key"})
    for _ in range(2):
        assert has(overtaken, record(300, b"key", b"v", time=700))
        assert has(overtaken, record(0, b"longer key", bytes(8)))
        assert has(overtaken, record(0, b"key", bytes(15)))
        assert not has(overtaken, record(0, b"other one!", bytes(8)))
        assert not has(overtaken, record(0, None, bytes(18)))


def test_longer_value_is_another_shape() -> None:
    overtaken = Overtaken({b"key"})
    first, second = record(0, b"key", b""), record(1, b"key", b"")
    assert has(overtaken, first + second)
    assert first.endswith(b"\0\0"), "no value, no headers"
    assert not has(overtaken, first[:-2] + b"\x80\x80" + second)
