"""The contract of a delayed operation: tried at events, forced at its deadline, completed once."""

from collections.abc import Callable

import pytest

from kohort.purgatory import DelayedOperation, Purgatory


class Operation(DelayedOperation):
    """Completes when it is told that it may; remembers what happened to it."""

    __slots__ = ("completions", "may_complete", "then", "tries")

    def __init__(self, deadline_ms: int, then: Callable[[int], object] = lambda now_ms: None) -> None:
        super().__init__(deadline_ms)
        self.may_complete = False
        self.tries = 0
        self.completions: list[tuple[int, bool]] = []
        self.then = then

    def can_complete(self, now_ms: int) -> bool:
        self.tries += 1
        return self.may_complete

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.completions.append((now_ms, expired))
        self.then(now_ms)


def test_event_on_any_key_checks() -> None:
    purgatory, fetch = Purgatory(), Operation(500)
    purgatory.wait(fetch, ["a", "b"])
    assert purgatory.check("b", 10) == 0  # not yet
    fetch.may_complete = True
    assert purgatory.check("c", 20) == 0  # none of its keys
    assert purgatory.check("a", 30) == 1
    assert purgatory.check("b", 40) == 0  # it waits nowhere any more
    assert purgatory.advance(1_000) == 0
    assert fetch.completions == [(30, False)]
    assert fetch.tries == 2


def test_event_completes_all_ready_operations() -> None:
    purgatory = Purgatory()
    ready, other = Operation(500), Operation(500)
    for operation in (ready, other):
        purgatory.wait(operation, ["a"])
    ready.may_complete = True
    assert purgatory.check("a", 10) == 1
    assert len(purgatory) == 1
    other.may_complete = True
    assert purgatory.check("a", 20) == 1
    assert len(purgatory) == 0


def test_at_its_deadline_it_is_forced() -> None:
    purgatory, fetch = Purgatory(), Operation(500)
    purgatory.wait(fetch, ["a"])
    assert purgatory.advance(499) == 0
    assert purgatory.advance(2_000) == 1
    assert fetch.completions == [(500, True)]  # at its own moment, however late the shell came
    assert purgatory.check("a", 2_000) == 0


def test_each_deadline_has_its_moment() -> None:
    purgatory = Purgatory()
    heard: list[int] = []
    for deadline_ms in (900, 300, 600, 300):
        purgatory.wait(Operation(deadline_ms, heard.append))
    assert purgatory.advance(1_000) == 4
    assert heard == [300, 300, 600, 900]


def test_it_completes_once() -> None:
    purgatory, fetch = Purgatory(), Operation(500)
    purgatory.wait(fetch, ["a"])
    assert purgatory.complete(fetch, 10)
    assert not purgatory.complete(fetch, 20)
    fetch.may_complete = True
    assert purgatory.check("a", 30) == 0
    assert purgatory.advance(1_000) == 0
    assert fetch.completions == [(10, False)]


def test_completing_itself_completes_once() -> None:
    purgatory = Purgatory()
    fetch = Operation(500, lambda now_ms: purgatory.check("a", now_ms))
    purgatory.wait(fetch, ["a"])
    fetch.may_complete = True
    assert purgatory.check("a", 10) == 1
    assert len(fetch.completions) == 1


def test_cancelled_is_forgotten() -> None:
    purgatory, fetch = Purgatory(), Operation(500)
    purgatory.wait(fetch, ["a"])
    purgatory.cancel(fetch)
    fetch.may_complete = True
    assert purgatory.check("a", 10) == 0
    assert purgatory.advance(1_000) == 0
    assert not purgatory.complete(fetch, 1_000)
    assert fetch.completions == []
    assert purgatory.next_wakeup_ms is None


@pytest.mark.parametrize("deadline_ms", [200, 800])
def test_postponed_operation_expires_later(deadline_ms: int) -> None:
    purgatory, session = Purgatory(), Operation(500)
    purgatory.wait(session)
    purgatory.postpone(session, deadline_ms)
    assert purgatory.advance(deadline_ms - 1) == 0
    assert purgatory.advance(deadline_ms) == 1
    assert session.completions == [(deadline_ms, True)]


def test_completion_cancels_second_operation() -> None:
    purgatory = Purgatory()
    second = Operation(500)
    purgatory.wait(Operation(500, lambda _: purgatory.cancel(second)))
    purgatory.wait(second)
    assert purgatory.advance(500) == 1
    assert second.completions == []


def test_completion_postpones_second_operation() -> None:
    purgatory = Purgatory()
    session = Operation(500)
    purgatory.wait(Operation(500, lambda now_ms: purgatory.postpone(session, now_ms + 100)))
    purgatory.wait(session)
    assert purgatory.advance(500) == 1
    assert session.completions == []
    assert purgatory.advance(600) == 1
    assert session.completions == [(600, True)]


def test_completion_starts_operation_before_next_moment() -> None:
    purgatory, heard = Purgatory(), []

    def more(now_ms: int) -> None:
        heard.append(("first", now_ms))
        purgatory.wait(Operation(now_ms, lambda at: heard.append(("at once", at))))
        purgatory.wait(Operation(now_ms + 50, lambda at: heard.append(("soon", at))))

    purgatory.wait(Operation(500, more))
    purgatory.wait(Operation(600, lambda at: heard.append(("later", at))))
    assert purgatory.advance(1_000) == 4
    assert heard == [("first", 500), ("at once", 500), ("soon", 550), ("later", 600)]


def test_failing_operation_affects_no_other() -> None:
    purgatory = Purgatory()
    heard: list[int] = []

    def fail(now_ms: int) -> None:
        raise ZeroDivisionError

    purgatory.wait(Operation(500, fail))
    purgatory.wait(Operation(500, heard.append))
    purgatory.wait(Operation(501, heard.append))
    with pytest.raises(ZeroDivisionError):
        purgatory.advance(600)
    assert purgatory.advance(600) == 2
    assert heard == [500, 501]


def test_failure_callback_keeps_time() -> None:
    failed: list[tuple[DelayedOperation, Exception]] = []
    heard: list[int] = []
    purgatory = Purgatory(failed=lambda *told: failed.append(told))

    def fail(now_ms: int) -> None:
        raise ZeroDivisionError

    first, second = Operation(500, fail), Operation(500, heard.append)
    for each in first, second:
        purgatory.wait(each, ["a"])
    assert purgatory.advance(600) == 1
    assert heard == [500]
    assert [each for each, _ in failed] == [first]


def test_at_most_limits_expired_operations() -> None:
    heard: list[int] = []
    purgatory = Purgatory()
    first, cancelled, postponed, *others = (Operation(500, heard.append) for _ in range(6))
    later = Operation(600, heard.append)
    for each in (first, cancelled, postponed, *others, later):
        purgatory.wait(each)
    assert purgatory.advance(1_000, 1) == 1
    assert (heard, len(purgatory), purgatory.next_wakeup_ms) == ([500], 6, 500)
    purgatory.cancel(cancelled)
    assert len(purgatory) == 5
    purgatory.postpone(postponed, 2_000)
    assert purgatory.advance(1_000, 4) == 2  # two of the four are not due any more
    assert [each.completions for each in others] == [[(500, True)], [(500, True)], []]
    assert purgatory.advance(1_000, 4) == 2
    assert heard == [500, 500, 500, 500, 600]
    assert len(purgatory) == 1
    assert purgatory.advance(1_999) == 0
    assert purgatory.advance(2_000) == 1


def test_remaining_operation_can_wait_again() -> None:
    purgatory = Purgatory()
    first, again = Operation(500), Operation(500)
    for each in first, again:
        purgatory.wait(each)
    assert purgatory.advance(1_000, 1) == 1
    purgatory.cancel(again)
    again.completed, again.deadline_ms = False, 1_500
    purgatory.wait(again)
    assert purgatory.advance(1_400) == 0
    assert purgatory.advance(1_500) == 1
    assert again.completions == [(1_500, True)]


def test_failing_operation_does_not_stop_event() -> None:
    failed: list[DelayedOperation] = []
    heard: list[int] = []
    purgatory = Purgatory(failed=lambda each, problem: failed.append(each))

    def fail(now_ms: int) -> None:
        raise ZeroDivisionError

    first, second = Operation(500, fail), Operation(500, heard.append)
    for each in first, second:
        each.may_complete = True
        purgatory.wait(each, ["a"])
    assert purgatory.check("a", 7) == 1
    assert heard == [7]
    assert failed == [first]
    assert len(purgatory) == 0


def test_earlier_deadline_notifies_shell() -> None:
    heard: list[str] = []
    purgatory = Purgatory(changed=lambda: heard.append("changed"))
    operation = Operation(500)
    purgatory.wait(operation)
    assert heard == ["changed"]
    purgatory.postpone(operation, 900)
    assert heard == ["changed"]  # a later one needs no other timer
    purgatory.postpone(operation, 100)
    assert heard == ["changed", "changed"]
    purgatory.wait(Operation(100))
    purgatory.wait(Operation(700))
    assert heard == ["changed", "changed"]  # the timer is set for an earlier time
    purgatory.wait(Operation(20))
    assert heard == ["changed", "changed", "changed"]


def test_waiting_for_turn_comes_last() -> None:
    purgatory = Purgatory()
    turns: list[str] = []

    def again(now_ms: int) -> None:
        turns.append("worker")
        purgatory.wait_for_a_turn(worker)

    worker = Operation(10, again)
    purgatory.wait(worker)
    for deadline_ms in (11, 500, 900):
        purgatory.wait(Operation(deadline_ms, lambda now_ms: turns.append("other")))
    purgatory.advance(1_000)
    assert turns == ["worker", "other", "other", "other"]
    assert purgatory.next_wakeup_ms == 1_001
    purgatory.advance(1_001)
    assert turns[4:] == ["worker"]
