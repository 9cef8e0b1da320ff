"""A queue's records go to one member at a time, and none is lost, whatever happens to members and brokers.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

import pytest

from kohort.broker.cluster import replay
from kohort.broker.cluster.group_events import Recorded
from kohort.control.oracle.share_safety import ShareSafety
from kohort.coordinator import pace
from kohort.coordinator.share_partitions import acknowledging, in_flight, transitions
from kohort.coordinator.share_partitions.record_states import ACKNOWLEDGED, ARCHIVED, AVAILABLE
from kohort.coordinator.share_partitions.share_partition import SharePartition
from kohort.coordinator.share_state import share_state_records, state_batches
from tests.simulation.sharing import Queues
from tests.simulation.sharing_promises import (
    PROMISES,
    nothing_was_lost_or_skipped,
    records_go_their_way,
    the_log_tells_the_same_states,
)
from tests.support.seeds import SEEDS, STEPS, is_known


@pytest.mark.parametrize("seed", SEEDS)
def test_every_record_has_one_owner(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 2_000)
    monkeypatch.setattr(replay, "STEP_BYTES", 500)
    queues = Queues(seed)
    with queues.told():
        _plays(queues, STEPS // 2)
    assert queues.ledger.again or not is_known(seed), "nothing much happened"


# 12, 21: a member opens a session while its ended one is being released
@pytest.mark.parametrize("seed", [*SEEDS[:3], 12, 21])
@pytest.mark.parametrize("size", [1, 3])
def test_promises_hold_with_small_slices(seed: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pace, acknowledging, in_flight, state_batches, share_state_records):
        monkeypatch.setattr(module, "ELEMENTS_AT_ONCE", size)
    _plays(Queues(seed), STEPS // 2)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("locks end early", "'s, and goes to"),
        ("what is accepted may be had again", "is done with, and goes to"),
        ("what may be had is passed", "were never done with"),
    ],
)
def test_broken_invariant_is_detected(broken: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken == "locks end early":
        monkeypatch.setattr(SharePartition, "lock_expiry_ms", lambda self, now_ms: now_ms + 300)
    elif broken == "what is accepted may be had again":
        monkeypatch.setattr(transitions, "STATE_AFTER", (ARCHIVED, AVAILABLE, AVAILABLE, ARCHIVED))
    else:
        released = (ARCHIVED, ACKNOWLEDGED, ACKNOWLEDGED, ARCHIVED)
        monkeypatch.setattr(transitions, "STATE_AFTER", released)
    queues = Queues(0)
    with pytest.raises(AssertionError, match=message):
        _plays(queues, 1_500)


def _plays(queues: Queues, steps: int) -> None:
    """Play with the laboratory's safety checks, which must report nothing."""
    violations = _watches(queues)
    for number in range(steps):
        queues.step()
        for promise in PROMISES:
            promise(queues)
        if number % 50 == 49:
            the_log_tells_the_same_states(queues)
    queues.comes_to_rest(lambda: records_go_their_way(queues))
    the_log_tells_the_same_states(queues)
    nothing_was_lost_or_skipped(queues)
    assert violations == []


def _watches(queues: Queues) -> list[str]:
    violations: list[str] = []
    safety = ShareSafety(queues.cluster.topics.by_name, violations.append)

    def hear(recorded: Recorded) -> None:
        if recorded.event.group_type == "share":
            safety.on_event(recorded)

    queues.cluster.group_events.listen(hear)
    return violations
