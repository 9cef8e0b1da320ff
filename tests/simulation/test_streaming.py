"""Tasks of streams groups have one owner each, whatever happens to threads, topics and brokers.

How to play a seed again, or more of them: tests/support/seeds.py.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Any

import pytest

from kohort.broker.cluster import replay
from kohort.coordinator.modern.modern_values import Change, Record
from kohort.coordinator.streams import streams_targets
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import StreamsAssignment
from kohort.coordinator.streams.streams_owners import TaskOwners
from kohort.coordinator.streams.streams_values import NO_TASK_SETS, TaskSets
from kohort.coordinator.streams.task_assignor import assigning
from tests.simulation.streaming import Streaming
from tests.simulation.streaming_promises import (
    PROMISES,
    epochs_only_grow,
    every_task_is_somebodys,
    the_log_tells_the_same,
)
from tests.support.seeds import SEEDS, STEPS, is_known

Promise = Callable[[Streaming], None]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_task_has_one_owner(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 2_000)
    monkeypatch.setattr(replay, "STEP_BYTES", 500)
    streaming = Streaming(seed)
    with streaming.told():
        _plays(streaming, STEPS // 2)
    assert streaming.counts["commits"] or not is_known(seed), "nothing much happened"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("tasks are given before they were given up", "both work on"),
        ("a process may have a task twice", "of one process both have|in two roles"),
        ("a member that goes changes no epoch", "is [0-9]+ after"),
        ("an epoch is not written down", "is not in the log as it is"),
        ("a member is left out", "has no owner"),
        ("no member gets a standby", "has 0 standbys"),
    ],
)
def test_broken_invariant_is_detected(broken: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken.startswith("tasks are given"):
        monkeypatch.setattr(TaskOwners, "is_active", lambda self, subtopology_id, partition: False)
    elif broken.startswith("a process"):
        monkeypatch.setattr(TaskOwners, "holds", lambda self, process_id, subtopology_id, partition, *roles: False)
    elif broken.startswith("a member that goes"):
        monkeypatch.setattr(StreamsGroup, "next_epoch", lambda group: group.epoch_values)
    elif broken.startswith("an epoch"):
        monkeypatch.setattr(StreamsGroup, "record_of", _forgetting(StreamsGroup.record_of))
    else:
        spoil = _without_one if broken == "a member is left out" else _without_standbys
        monkeypatch.setattr(streams_targets, "assigning", _spoilt(assigning, spoil))
    streaming = Streaming(1)
    streaming.changes_replicas_of("joins", 1)
    with pytest.raises(AssertionError, match=message):
        _plays(streaming, 600, PROMISES[1:] if broken.startswith(("tasks", "a process")) else PROMISES)


def _forgetting(record_of: Any) -> Any:
    """Remove the previous epoch from the records of members."""

    def record(group: StreamsGroup, change: Change) -> Record:
        if isinstance(change.value, StreamsAssignment):
            change = change._replace(value=change.value._replace(previous_epoch=0))
        written: Record = record_of(group, change)
        return written

    return record


def _spoilt(assigns: Any, spoil: Any) -> Any:
    def steps(*inputs: Any) -> Generator[int, None, Any]:
        targets = yield from assigns(*inputs)
        return spoil(targets)

    return steps


def _without_one(targets: dict[str, TaskSets]) -> dict[str, TaskSets]:
    return {**targets, next(iter(targets)): NO_TASK_SETS}


def _without_standbys(targets: dict[str, TaskSets]) -> dict[str, TaskSets]:
    return {member_id: TaskSets(active=each.active) for member_id, each in targets.items()}


def _plays(streaming: Streaming, steps: int, promises: Iterable[Promise] = PROMISES) -> None:
    for number in range(steps):
        streaming.step()
        for promise in promises:
            promise(streaming)
        if number % 50 == 49:
            the_log_tells_the_same(streaming)
    streaming.comes_to_rest()
    the_log_tells_the_same(streaming)
    epochs_only_grow(streaming)
    every_task_is_somebodys(streaming)
