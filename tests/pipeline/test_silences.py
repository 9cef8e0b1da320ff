"""Silences are reported when records wait, and messages in the order of their times."""

from __future__ import annotations

from kohort.pipeline.live.in_order import KEPT_MS, InOrder
from kohort.pipeline.live.silences import Silences, Waiting
from kohort.pipeline.live.webhook import Message

PLACE = ("orders", 0)


def message(kind: str, at_ms: int = 0, group: str = "billing", text: str = "no commits for 31 s") -> Message:
    return Message(group, at_ms, kind, "warning", text)


class Watched:
    """A group, what waits for it, and a clock."""

    def __init__(self, waiting: Waiting | None) -> None:
        self.now_ms, self.waiting = 0, waiting
        self.silences = Silences(lambda _: self.waiting, lambda: self.now_ms)

    def hears(self, kind: str) -> list[str]:
        return [f"{each.kind}: {each.text}" for each in self.silences.hear(message(kind))]

    def later(self, seconds: int) -> list[str]:
        told: list[str] = []
        for _ in range(seconds // 5):
            self.now_ms += 5_000
            told += [f"{each.kind}: {each.text}" for each in self.silences.look()]
        return told


def test_caught_up_group_is_ignored() -> None:
    watched = Watched({})
    assert watched.hears("silent") == []
    assert watched.later(3_600) == []
    assert watched.hears("resumed") == []


def test_waiting_records_are_reported_once() -> None:
    watched = Watched({PLACE: (10, 130)})
    assert watched.hears("silent") == []
    assert watched.later(10) == []
    assert watched.later(5) == ["silent: no commits for 31 s; 120 records wait"]
    assert watched.later(600) == []
    assert watched.hears("resumed") == ["resumed: no commits for 31 s"]


def test_promptly_read_record_is_ignored() -> None:
    watched = Watched({PLACE: (10, 11)})
    assert watched.hears("silent") == []
    for offset in range(11, 20):
        watched.waiting = {PLACE: (offset, offset + 1)}
        assert watched.later(10) == []


def test_later_records_count_as_waiting() -> None:
    watched = Watched({})
    assert watched.hears("silent") == []
    assert watched.later(300) == []
    watched.waiting = {PLACE: (10, 11)}
    assert watched.later(20) == ["silent: no commits for 31 s; 1 record waits"]


def test_silence_without_known_lag_is_reported() -> None:
    watched = Watched(None)
    assert watched.hears("silent") == ["silent: no commits for 31 s"]


def test_last_leave_ends_silence() -> None:
    watched = Watched({PLACE: (10, 130)})
    assert watched.hears("silent") == []
    assert watched.hears("empty") == ["empty: no commits for 31 s"]
    assert watched.later(600) == []


def test_messages_are_in_time_order() -> None:
    told: list[int] = []
    now = [0]
    order = InOrder(lambda each: told.append(each.at_ms), lambda: now[0])
    order.hear(message("rebalance_over", 2_000))
    now[0] = 1_000
    order.hear(message("members_gone", 1_500))
    order.flush()
    assert told == []
    now[0] = KEPT_MS
    order.flush()
    assert told == [1_500, 2_000]
    order.hear(message("storm", 9_000))
    order.flush(everything=True)
    assert told == [1_500, 2_000, 9_000]
