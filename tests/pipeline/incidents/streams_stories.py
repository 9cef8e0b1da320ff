"""Streams groups: tasks that are restored for long, processes that come and go, topologies that change; healthy habits.

Each has a group and a source topic of the story's name, with four partitions, and counts by key. A session lasts 6 s.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.pipeline.incidents.stage import Group, Member, Stage

_LONG_S = 150
_SETTLED_S = 20
_MANY = 60
"""Records a second in each partition, so that changelogs hold enough."""


def _begin(group: Group, *names: str, pause_ms: int = 0, stores: tuple[str, ...] = ("counts",)) -> list[Member]:
    """Processes that run."""
    members = [group.streams(name, pause_ms=pause_ms, stores=stores) for name in names]
    for member in members:
        member.until("RUNNING")
    return members


def _two_with_state(group: Group) -> tuple[Member, Member]:
    """Two processes, each of which pauses after each hundred records that it restores; changelogs of a few thousand."""
    group.stage.rate(group.name, _MANY)
    first, second = _begin(group, "p-1", "p-2", pause_ms=3_000)
    group.stage.watch(f"{group.name}-counts-changelog")
    time.sleep(60)
    group.stage.rate(group.name, 5)
    return first, second


def restoring(stage: Stage) -> None:
    """One of two processes is killed, and the other one is not through with restoring what it had after two minutes."""
    group = stage.streams_group("restoring")
    _, killed = _two_with_state(group)
    killed.signal(signal.SIGKILL)
    time.sleep(_LONG_S)
    group.all_stop()


def copied(stage: Stage) -> None:
    """One of two processes is killed, and the other one has a copy of all that it had."""
    group = stage.streams_group("copied", standbys=1)
    _, killed = _two_with_state(group)
    time.sleep(60)
    killed.signal(signal.SIGKILL)
    time.sleep(_LONG_S - 60)
    group.all_stop()


def flapping(stage: Stage) -> None:
    """One of two processes is killed and started again, four times."""
    group = stage.streams_group("flapping")
    _begin(group, "p-1")
    for _ in range(4):
        (killed,) = _begin(group, "p-2")
        time.sleep(_SETTLED_S)
        killed.signal(signal.SIGKILL)
        time.sleep(10)
    _begin(group, "p-2")
    time.sleep(_SETTLED_S)
    group.all_stop()


def rolling(stage: Stage) -> None:
    """Two processes are closed and started again, one after the other."""
    group = stage.streams_group("rolling")
    for number, member in enumerate(_begin(group, "p-1", "p-2"), 1):
        time.sleep(_SETTLED_S)
        member.stop()
        _begin(group, f"p-{number}")
    time.sleep(_SETTLED_S)
    group.all_stop()


def upgraded(stage: Stage) -> None:
    """A version with another store is refused, until the group is deleted with its offsets."""
    group = stage.streams_group("upgraded")
    (old,) = _begin(group, "p-1")
    time.sleep(_SETTLED_S)
    refused = group.streams("p-2", stores=("counts", "more"))
    refused.until("failed")
    refused.end()
    old.stop()
    time.sleep(8)
    stage.delete_group("upgraded")
    group.tell("deleted")
    _begin(group, "p-1", stores=("counts", "more"))
    time.sleep(_SETTLED_S)
    group.all_stop()


WAVES: list[list[Callable[[Stage], None]]] = [[restoring, flapping], [copied, rolling, upgraded]]
TO_THE_END: list[Callable[[Stage], object]] = []
HEALTHY = ("rolling",)
