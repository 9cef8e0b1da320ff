"""Incidents of classic groups, on hosts of their own. Each has a group of the story's name. Sessions last 6 s unless said.

`stories.py` has those of the consumer protocol.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.pipeline.incidents.stage import Group, Member, Stage


def _hosts(number: int) -> Callable[[int], str]:
    """Addresses of one story."""
    return lambda at: f"127.0.{number}.{at}"


def calm(stage: Stage) -> Group:
    """Three members and nothing else, alive when the broker is suspended at the end."""
    group, host = stage.group("calm"), _hosts(1)
    for number in (1, 2, 3):
        group.pod(f"c-{number}", host(number), session_ms=30_000)
    return group


def calm_default_ids(stage: Stage) -> Group:
    """Three members with one client id, alive when the broker is suspended at the end."""
    group, host = stage.group("calm-default-ids"), _hosts(2)
    for number in (1, 2, 3):
        group.pod(f"c-{number}", host(number), client_id="rdkafka", session_ms=30_000)
    return group


def calm_static(stage: Stage) -> Group:
    """Two static members, alive when the broker is suspended at the end."""
    group, host = stage.group("calm-static"), _hosts(3)
    for number in (1, 2):
        group.pod(f"c-{number}", host(number), instance=f"i-{number}", session_ms=30_000)
    return group


def dead(stage: Stage) -> Group:
    """All members are killed and not restarted, while records keep arriving."""
    group, host = stage.group("dead"), _hosts(4)
    members = [group.pod(f"c-{number}", host(number)) for number in (1, 2)]
    time.sleep(15)
    for member in members:
        member.signal(signal.SIGKILL)
    return group


def lost_hosts(stage: Stage) -> None:
    """Four of five hosts are lost at once. All clients have librdkafka's default client id."""
    group, host = stage.group("lost-hosts"), _hosts(5)
    members = [group.pod(f"c-{number}", host(number), client_id="rdkafka") for number in range(1, 6)]
    time.sleep(22)
    for member in members[1:]:
        member.signal(signal.SIGKILL)
    time.sleep(16)
    group.all_stop()


def suspended(stage: Stage) -> None:
    """One of five is stopped for 14 s; sessions last 10 s."""
    group, host = stage.group("suspended"), _hosts(6)
    members = [group.pod(f"c-{number}", host(number), session_ms=10_000, max_poll_ms=30_000) for number in range(1, 6)]
    time.sleep(22)
    members[3].signal(signal.SIGSTOP)
    time.sleep(14)
    members[3].signal(signal.SIGCONT)
    time.sleep(12)
    group.all_stop()


def static_restart(stage: Stage) -> None:
    """A static member is closed and started again 12 s later; its session ends meanwhile."""
    group, host = stage.group("static-restart"), _hosts(7)
    members = [group.pod(f"c-{number}", host(number), instance=f"i-{number}") for number in (1, 2, 3)]
    time.sleep(20)
    members[1].stop()
    time.sleep(12)
    group.pod("c-2", host(2), instance="i-2")
    time.sleep(12)
    group.all_stop()


def orderly_restart(stage: Stage) -> None:
    """A dynamic member is closed and started again 12 s later."""
    group, host = stage.group("orderly-restart"), _hosts(8)
    members = [group.pod(f"c-{number}", host(number)) for number in (1, 2, 3)]
    time.sleep(20)
    members[1].stop()
    time.sleep(12)
    group.pod("c-2", host(2))
    time.sleep(12)
    group.all_stop()


def debug_consumer(stage: Stage) -> None:
    """A consumer that never commits joins for 14 s, and is closed."""
    group, host = stage.group("debug-consumer"), _hosts(9)
    for number in (1, 2):
        group.pod(f"c-{number}", host(number))
    time.sleep(18)
    looking = group.pod("debug", host(9), commits=False)
    time.sleep(14)
    looking.stop()
    time.sleep(10)
    group.all_stop()


def two_assign(stage: Stage) -> None:
    """Two consumers without membership commit the same partition: one is at its end, one starts over and is slow."""
    group, host = stage.group("two-assign"), _hosts(10)
    time.sleep(10)
    group.pod("c-1", host(1), assign=["two-assign", 0])
    time.sleep(8)
    group.pod("c-2", host(2), assign=["two-assign", 0], records_a_second=2)
    time.sleep(25)
    group.all_stop()


def poison(stage: Stage) -> None:
    """Each member that reads record 60 of partition 2 dies of it, and is restarted."""
    group, host = stage.group("poison"), _hosts(11)
    members = {number: group.pod(f"c-{number}", host(number), dies_at=[2, 60]) for number in (1, 2, 3)}
    end = time.monotonic() + 70
    while time.monotonic() < end:
        time.sleep(2)
        for number, member in members.items():
            if not member.is_there:
                members[number] = group.pod(f"c-{number}", host(number), dies_at=[2, 60])
    for member in members.values():
        if member.is_there:
            member.stop()


def half_deployed(stage: Stage) -> None:
    """Two of four members have the new subscription, and it stays like that."""
    stage.topic("half-deployed-more")
    group, host = stage.group("half-deployed"), _hosts(12)
    both = ["half-deployed", "half-deployed-more"]
    for number in (1, 2, 3, 4):
        group.pod(f"c-{number}", host(number), topics=both if number > 2 else ["half-deployed"])
    time.sleep(75)
    group.all_stop()


def never_commits(stage: Stage) -> None:
    """One of three members reads and never commits."""
    group, host = stage.group("never-commits"), _hosts(13)
    for number in (1, 2, 3):
        group.pod(f"c-{number}", host(number), commits=number != 3)
    time.sleep(75)
    group.all_stop()


def static_taken_once(stage: Stage) -> None:
    """A second process with the instance id of a living one; the first one stops."""
    group, host = stage.group("static-taken-once"), _hosts(14)
    for number in (1, 2):
        group.pod(f"c-{number}", host(number), instance=f"i-{number}")
    time.sleep(20)
    group.pod("c-9", host(9), instance="i-2")
    time.sleep(20)
    group.all_stop()


def static_ping_pong(stage: Stage) -> None:
    """Two processes with one instance id, each started again when it was fenced."""
    group, host = stage.group("static-ping-pong"), _hosts(15)
    group.pod("c-1", host(1), instance="i-1")
    rivals = {name: group.pod(name, host(at), instance="i-2") for at, name in ((2, "c-2"), (9, "c-9"))}
    end = time.monotonic() + 45
    while time.monotonic() < end:
        time.sleep(4)
        for at, name in ((2, "c-2"), (9, "c-9")):
            if not rivals[name].is_there:
                rivals[name] = group.pod(name, host(at), instance="i-2")
    for member in group.members:
        if member.is_there:
            member.stop()


def merged_restarts(stage: Stage) -> None:
    """Three of six members restart at the same time: their rebalances merge."""
    group, host = stage.group("merged-restarts"), _hosts(16)
    members = [group.pod(f"c-{number}", host(number)) for number in range(1, 7)]
    time.sleep(24)
    for member in members[:4]:
        member.order("stop")
    time.sleep(4)
    for number in (1, 2, 3, 4):
        group.pod(f"c-{number}", host(number))
    time.sleep(16)
    group.all_stop()


def surge_deploy(stage: Stage) -> None:
    """A deploy of three pods whose names change: each new one is there before an old one goes."""
    group, host = stage.group("surge-deploy"), _hosts(17)
    old = [group.pod(f"billing-7d9f8b6c5-{tail}", host(at)) for at, tail in enumerate(("x2k4q", "8zrtv", "mm9wp"), 1)]
    time.sleep(20)
    for at, (tail, member) in enumerate(zip(("kq7lb", "w4d2s", "t9xcc"), old, strict=True), 11):
        group.pod(f"billing-5c8d7f9b4-{tail}", host(at))
        time.sleep(6)
        member.stop()
        time.sleep(3)
    time.sleep(8)
    group.all_stop()


def autoscaled(stage: Stage) -> None:
    """An autoscaler that can't decide: pods come and go, the names of all have one hash."""
    group, host = stage.group("autoscaled"), _hosts(18)
    running: list[Member] = []
    number = 0
    for size in (2, 4, 2, 5, 3, 5, 2):
        while len(running) < size:
            number += 1
            running.append(group.pod(f"scaled-6b8c9d7f5-pod{number:02}", host(number)))
        while len(running) > size:
            running.pop().stop()
        time.sleep(8)
    group.all_stop()


TO_THE_END = (calm, calm_default_ids, calm_static)
WAVES = (
    (lost_hosts, suspended, static_restart, orderly_restart),
    (debug_consumer, two_assign, never_commits, poison, static_taken_once),
    (half_deployed, static_ping_pong, merged_restarts, surge_deploy, autoscaled),
)
