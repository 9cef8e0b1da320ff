"""Idempotent producers: what may be appended next, and what came before."""

from kohort.protocol.errors import ErrorCode
from kohort.storage.producers import Producers, Remembered, last_sequence

ADA, BOB = 7, 8
LARGEST = 2**31 - 1


def appended(producers: Producers, epoch: int, first: int, count: int, base_offset: int, wall_ms: int = 0) -> None:
    remembered = Remembered(first, last_sequence(first, count), base_offset, 0)
    producers.appended(ADA, epoch, remembered, wall_ms)


def test_sequences_follow_each_other() -> None:
    producers = Producers()
    assert producers.check(ADA, 0, 0) == ErrorCode.none
    appended(producers, 0, 0, 3, 100)
    assert producers.check(ADA, 0, 3) == ErrorCode.none
    assert producers.check(ADA, 0, 2) == ErrorCode.out_of_order_sequence_number
    assert producers.check(ADA, 0, 4) == ErrorCode.out_of_order_sequence_number
    assert producers.check(BOB, 0, 0) == ErrorCode.none


def test_unknown_producer_starts_anywhere() -> None:
    assert Producers().check(ADA, 3, 17) == ErrorCode.none


def test_new_epoch_restarts_sequence() -> None:
    producers = Producers()
    appended(producers, 1, 0, 1, 0)
    assert producers.check(ADA, 2, 1) == ErrorCode.out_of_order_sequence_number
    assert producers.check(ADA, 2, 0) == ErrorCode.none
    appended(producers, 2, 0, 1, 1)
    assert producers.check(ADA, 1, 1) == ErrorCode.invalid_producer_epoch
    assert producers.find_duplicate(ADA, 1, 0, 1) is None


def test_remembers_last_five_batches() -> None:
    producers = Producers()
    for n in range(6):
        appended(producers, 0, n, 1, 10 + n)
    assert producers.find_duplicate(ADA, 0, 0, 1) is None
    assert [producers.find_duplicate(ADA, 0, n, 1).base_offset for n in range(1, 6)] == [11, 12, 13, 14, 15]  # type: ignore[union-attr]
    assert producers.find_duplicate(ADA, 0, 5, 2) is None
    assert producers.find_duplicate(BOB, 0, 5, 1) is None


def test_after_the_largest_sequence_comes_0() -> None:
    producers = Producers()
    appended(producers, 0, LARGEST - 1, 2, 0)
    assert producers.check(ADA, 0, 0) == ErrorCode.none
    appended(producers, 0, 0, 1, 2)
    assert last_sequence(LARGEST, 3) == 1


def test_silent_producers_are_forgotten() -> None:
    producers = Producers(expiration_ms=1_000)
    producers.appended(BOB, 0, Remembered(0, 0, 0, 0), 0)
    appended(producers, 0, 0, 1, 1, wall_ms=500)
    producers.appended(BOB, 0, Remembered(1, 1, 2, 0), 900)
    assert producers.expire(1_499) == 0
    assert producers.expire(1_500) == 1
    assert producers.check(ADA, 0, 5) == ErrorCode.none
    assert producers.check(BOB, 0, 5) == ErrorCode.out_of_order_sequence_number
    assert len(producers) == 1


def test_bumped_marker_is_newer() -> None:
    producers = Producers()
    largest = 32_767
    for producer_id, epoch in ((ADA, 3), (BOB, largest)):
        producers.appended(producer_id, epoch, Remembered(0, 0, 10, 0), 0, transactional=True)
    assert producers.check_epoch(ADA, 3) is ErrorCode.none
    assert producers.check_epoch(ADA, 3, bumped=True) is ErrorCode.invalid_producer_epoch
    assert producers.check_epoch(ADA, 4, bumped=True) is ErrorCode.none
    assert producers.check_epoch(BOB, largest, bumped=True) is ErrorCode.none, "it is the largest one"
    producers.ended(ADA, 3, 11, 0, 0, committed=True)
    assert producers.check_epoch(ADA, 3, bumped=True) is ErrorCode.none, "the same marker again"
