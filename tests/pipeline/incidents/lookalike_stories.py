"""Incidents that look like another one, on a real Kafka. Each has a group of the story's name."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.pipeline.incidents.stage import Group, Stage

_PATIENT_MS = 120_000
AWAY_S, JOIN_AFTER_S = 60, 30


def _join_while_away(stage: Stage, name: str, protocol: str) -> None:
    group = stage.group(name)
    members = [group.starts(f"c-{n}", protocol=protocol, max_poll_ms=_PATIENT_MS) for n in (1, 2, 3)]
    time.sleep(25)
    group.tell("dependency_away")
    for member in members:
        member.order(f"stall {AWAY_S}")
    time.sleep(JOIN_AFTER_S)
    group.starts("c-4", protocol=protocol, max_poll_ms=_PATIENT_MS)
    time.sleep(AWAY_S - JOIN_AFTER_S)
    group.tell("dependency_back")
    time.sleep(25)
    group.all_stop()


def joined_while_away(stage: Stage) -> None:
    """Let all members wait for a dependency for 60 s; after 30 s an autoscaler adds one."""
    _join_while_away(stage, "joined-while-away", "classic")


def joined_while_away_848(stage: Stage) -> None:
    """Let the members of a consumer group wait for a dependency."""
    _join_while_away(stage, "joined-while-away-848", "consumer")


def joined_while_slow(stage: Stage) -> None:
    """Let one of three members have a batch of 45 s; after 15 s an autoscaler adds a fourth. The first is to blame."""
    group = stage.group("joined-while-slow")
    members = [group.starts(f"c-{n}", protocol="classic", max_poll_ms=_PATIENT_MS) for n in (1, 2, 3)]
    time.sleep(25)
    members[1].order("stall 45")
    time.sleep(15)
    group.starts("c-4", protocol="classic", max_poll_ms=_PATIENT_MS)
    time.sleep(60)
    group.all_stop()


def static_absent(stage: Stage) -> None:
    """Freeze a static member before another one joins: it misses the barrier, and its session lasts longer."""
    group = stage.group("static-absent")
    pods = [
        group.pod(f"p-{n}", f"127.0.30.{n}", instance=f"i-{n}", session_ms=60_000, max_poll_ms=12_000)
        for n in (1, 2, 3)
    ]
    time.sleep(30)
    pods[1].signal(signal.SIGSTOP)
    time.sleep(3)
    group.pod("p-4", "127.0.30.4", instance="i-4", session_ms=60_000, max_poll_ms=12_000)
    time.sleep(35)
    pods[1].signal(signal.SIGCONT)
    time.sleep(20)
    group.all_stop()


def resubscribing(stage: Stage) -> None:
    """Let one process unsubscribe and subscribe to another pattern every 15 s; the others stay."""
    group = stage.group("resubscribing")
    members = [group.starts(f"c-{n}", protocol="classic") for n in (1, 2, 3)]
    time.sleep(25)
    for number in range(7):
        members[1].order(f"resubscribe ^resubscribing$,^none-{number}.*")
        time.sleep(15)
    group.all_stop()


def busy_start(stage: Stage) -> None:
    """Let members join and change their subscriptions in the first seconds; nothing is wrong afterwards."""
    group = stage.group("busy-start")
    stage.topic("busy-start-more", 1)
    first = group.starts("c-1", protocol="classic")
    first.until("assigned")
    second = group.starts("c-2", protocol="classic")
    second.until("assigned")
    first.order("subscribe busy-start,busy-start-more")
    time.sleep(1)
    second.order("subscribe busy-start,busy-start-more")
    time.sleep(90)
    group.all_stop()


def _recreated(group: Group, stage: Stage, protocol: str) -> None:
    for number in (1, 2):
        group.starts(f"c-{number}", protocol=protocol)
    time.sleep(30)
    group.tell("topic_recreated")
    stage.again(group.name)
    time.sleep(60)
    group.all_stop()


def recreated_848(stage: Stage) -> None:
    """Delete the topic of a consumer group and create it again."""
    _recreated(stage.group("recreated-848"), stage, "consumer")


TO_THE_END: tuple[Callable[[Stage], Group], ...] = ()
WAVES = (
    (joined_while_away, joined_while_away_848, joined_while_slow),
    (static_absent, resubscribing, busy_start, recreated_848),
)
