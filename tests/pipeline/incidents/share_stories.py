"""Share groups: poison records, members that outlive their locks, backlogs; and healthy habits.

Each has a group of the story's name. A lock lasts 2 s, a record is delivered at most three times, a session lasts 6 s.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.pipeline.incidents.stage import Stage

PARTITIONS = 2
_LONG_S = 45


def steady(stage: Stage) -> None:
    """Three members accept what they get."""
    group = stage.share_group("steady", partitions=PARTITIONS)
    for number in (1, 2, 3):
        group.shares(f"c-{number}")
    time.sleep(_LONG_S)
    group.all_stop()


def rejecting(stage: Stage) -> None:
    """Two members put every twentieth record aside, and reject it at once."""
    group = stage.share_group("rejecting", partitions=PARTITIONS)
    for number in (1, 2):
        group.shares(f"c-{number}", rejects=20)
    time.sleep(_LONG_S)
    group.all_stop()


def retrying(stage: Stage) -> None:
    """Two members need a second try for every twentieth record."""
    group = stage.share_group("retrying", partitions=PARTITIONS)
    for number in (1, 2):
        group.shares(f"c-{number}", retries=20)
    time.sleep(_LONG_S)
    group.all_stop()


def poisoned(stage: Stage) -> None:
    """Two members release two records at each delivery, and accept all others."""
    group = stage.share_group("poisoned", partitions=PARTITIONS)
    for number in (1, 2):
        group.shares(f"c-{number}", poison=[[0, 30], [1, 50]])
    time.sleep(_LONG_S)
    group.all_stop()


def outliving(stage: Stage) -> None:
    """One of two members holds what it gets for longer than the lock, and acknowledges it too late."""
    group = stage.share_group("outliving", partitions=PARTITIONS)
    group.shares("c-1")
    group.shares("c-2", most=5, hold_s=3.0)
    time.sleep(_LONG_S)
    group.all_stop()


def crashing(stage: Stage) -> None:
    """One of three members is killed with records in its hands; the others get them."""
    group = stage.share_group("crashing", partitions=PARTITIONS)
    for number in (1, 2):
        group.shares(f"c-{number}")
    killed = group.shares("c-3", hold_s=1.0)
    time.sleep(20)
    killed.signal(signal.SIGKILL)
    time.sleep(_LONG_S - 20)
    group.all_stop()


def failing(stage: Stage) -> None:
    """A dependency of both members is unavailable for 15 s: they release all records."""
    group = stage.share_group("failing", partitions=PARTITIONS)
    members = [group.shares(f"c-{number}") for number in (1, 2)]
    time.sleep(15)
    group.tell("dependency_away")
    for member in members:
        member.order("fail")
    time.sleep(15)
    group.tell("dependency_back")
    for member in members:
        member.order("work")
    time.sleep(_LONG_S - 30)
    group.all_stop()


def behind(stage: Stage) -> None:
    """Its only member is slower than the producers."""
    group = stage.share_group("behind", partitions=PARTITIONS)
    group.shares("c-1", most=2, record_s=0.5)
    time.sleep(_LONG_S)
    group.all_stop()


def left_alone(stage: Stage) -> None:
    """Its members are stopped permanently, while records keep arriving."""
    group = stage.share_group("left-alone", partitions=PARTITIONS)
    for number in (1, 2):
        group.shares(f"c-{number}")
    time.sleep(15)
    group.all_stop()
    time.sleep(_LONG_S - 15)


WAVES: list[list[Callable[[Stage], None]]] = [
    [steady, rejecting, retrying, poisoned, left_alone],
    [outliving, crashing, failing, behind],
]
TO_THE_END: list[Callable[[Stage], object]] = []
HEALTHY = ("steady", "rejecting", "retrying")
