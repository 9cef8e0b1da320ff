"""The timing wheel against a sorted list: whatever is added, cancelled and waited for, both say the same."""

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, consumes, invariant, multiple, rule

from kohort.purgatory import TimerEntry, TimingWheel
from tests.support.effort import examples

NEAR = st.integers(-5, 45)
FAR = st.integers(0, 20**6)
AGES = st.integers(20**6, 20**9)


class SortedList:
    """What the wheel is to be like, in the simplest way."""

    def __init__(self) -> None:
        self.waiting: list[TimerEntry] = []

    def advance(self, now_ms: int) -> list[TimerEntry]:
        due = sorted((e for e in self.waiting if e.deadline_ms <= now_ms), key=lambda e: e.deadline_ms)
        self.waiting = [e for e in self.waiting if e.deadline_ms > now_ms]
        return due


class WheelAndList(RuleBasedStateMachine):
    """The same is done to both."""

    entries: Bundle[TimerEntry] = Bundle("entries")

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000
        self.wheel = TimingWheel(self.now_ms)
        self.list = SortedList()

    @rule(target=entries, delays=st.lists(st.one_of(NEAR, FAR, AGES), min_size=1, max_size=8))
    def add(self, delays: list[int]) -> MultipleResults[TimerEntry]:
        added = [TimerEntry(self.now_ms + delay) for delay in delays]
        for entry in added:
            before_ms = self.wheel.next_wakeup_ms
            self.reports_earlier_wakeup(before_ms, self.wheel.add(entry))
            self.list.waiting.append(entry)
        return multiple(*added)

    def reports_earlier_wakeup(self, before_ms: int | None, reported: bool) -> None:
        now_ms = self.wheel.next_wakeup_ms
        assert now_ms is not None
        assert reported or (before_ms is not None and before_ms <= now_ms)

    @rule(entry=consumes(entries))
    def cancel(self, entry: TimerEntry) -> None:
        was_waiting = entry in self.list.waiting
        if was_waiting:
            self.list.waiting.remove(entry)
        assert self.wheel.cancel(entry) is was_waiting

    @rule(entry=entries, delay=st.one_of(NEAR, FAR))
    def extend(self, entry: TimerEntry, delay: int) -> None:
        if entry.scheduled and self.now_ms + delay >= entry.deadline_ms:
            entry.deadline_ms = self.now_ms + delay  # the wheel finds out by itself

    @rule(entry=entries, delay=st.one_of(NEAR, FAR))
    def set_deadline(self, entry: TimerEntry, delay: int) -> None:
        before_ms = self.wheel.next_wakeup_ms
        reported = self.wheel.set_deadline(entry, self.now_ms + delay)
        if entry.scheduled:
            self.reports_earlier_wakeup(before_ms, reported)

    @rule(span_ms=st.one_of(NEAR, FAR, AGES))
    def advance(self, span_ms: int) -> None:
        self.now_ms += max(0, span_ms)
        assert self.wheel.advance(self.now_ms) == self.list.advance(self.now_ms)

    @rule()
    def advance_to_the_next_wakeup(self) -> None:
        wakeup_ms = self.wheel.next_wakeup_ms
        if wakeup_ms is not None:
            self.now_ms = max(self.now_ms, wakeup_ms)
            assert self.wheel.advance(self.now_ms) == self.list.advance(self.now_ms)

    @invariant()
    def counts_what_waits(self) -> None:
        assert len(self.wheel) == len(self.list.waiting)
        assert all(entry.scheduled for entry in self.list.waiting)

    @invariant()
    def wakes_up_in_time(self) -> None:
        wakeup_ms = self.wheel.next_wakeup_ms
        if self.list.waiting:
            assert wakeup_ms is not None
            assert wakeup_ms <= max(self.now_ms, min(e.deadline_ms for e in self.list.waiting))
        else:
            assert wakeup_ms is None


TestWheelAndList = WheelAndList.TestCase
TestWheelAndList.settings = examples(0.25, steps=25)


def test_equal_deadlines_keep_insertion_order() -> None:
    wheel = TimingWheel()
    early = [TimerEntry(500) for _ in range(3)]
    for entry in early:
        wheel.add(entry)
    wheel.advance(490)  # those have fallen to a finer level; the next one goes there directly
    late = TimerEntry(500)
    wheel.add(late)
    assert wheel.advance(500) == [*early, late]


def test_past_deadline_is_due_immediately() -> None:
    wheel = TimingWheel(1_000)
    entry = TimerEntry(10)
    wheel.add(entry)
    assert wheel.next_wakeup_ms is not None
    assert wheel.next_wakeup_ms <= 1_000
    assert wheel.advance(1_000) == [entry]


def test_waking_up_for_nothing_is_rare() -> None:
    wheel = TimingWheel()
    wheel.add(TimerEntry(1_800_000))
    wakeups = 0
    while (wakeup_ms := wheel.next_wakeup_ms) is not None:
        wheel.advance(wakeup_ms)
        wakeups += 1
    assert wakeups <= 6


def test_adding_and_cancelling_leaves_nothing_behind() -> None:
    wheel = TimingWheel()
    for _ in range(10_000):
        entry = TimerEntry(300_000)
        wheel.add(entry)
        wheel.cancel(entry)
    assert len(wheel._queue) < 10
