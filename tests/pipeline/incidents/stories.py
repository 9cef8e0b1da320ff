"""The incidents: actions on members, and their times.

Each has a group of the story's name. The broker's session timeout for the consumer protocol is 6 s; classic members
have the same.
"""

from __future__ import annotations

import signal
import time

from tests.pipeline.incidents.stage import Group, Member, Stage


def _three(group: Group) -> list[Member]:
    return [group.starts(f"c-{number}") for number in (1, 2, 3)]


def quiet(stage: Stage) -> Group:
    """Three members and nothing else, which run to the end of the recording."""
    group = stage.group("quiet")
    _three(group)
    return group


def quiet_mixed(stage: Stage) -> Group:
    """Two classic members and one of the consumer protocol, which run to the end of the recording."""
    group = stage.group("quiet-mixed")
    group.starts("c-1", protocol="classic")
    group.starts("c-2", protocol="classic")
    time.sleep(6)
    group.starts("c-3")
    return group


def held_back(stage: Stage) -> None:
    """c-2 has all partitions and its revoke callback takes 7 s; c-1 waits that long for its assignment."""
    group = stage.group("held-back")
    group.starts("c-2", slow_revoke_s=7)
    time.sleep(14)
    group.starts("c-1")
    time.sleep(18)
    group.all_stop()


def never_given_up(stage: Stage) -> None:
    """c-2 doesn't revoke partitions within its 8 s, and is fenced."""
    group = stage.group("never-given-up")
    group.starts("c-2", slow_revoke_s=13, max_poll_ms=8_000)
    time.sleep(14)
    group.starts("c-1", max_poll_ms=8_000)
    time.sleep(24)
    group.all_stop()


def poll_timeout(stage: Stage) -> None:
    """c-2 works on one batch for longer than its max.poll.interval.ms, twice."""
    group = stage.group("poll-timeout")
    _, slow = (
        group.starts("c-1", max_poll_ms=8_000),
        group.starts("c-2", max_poll_ms=8_000),
    )
    for _ in range(2):
        time.sleep(9)
        slow.order("stall 12")
        time.sleep(14)
    time.sleep(4)
    group.all_stop()


def killed(stage: Stage) -> None:
    """kill -9 of c-3: its session expires and its partitions are free again."""
    group = stage.group("killed")
    members = _three(group)
    time.sleep(14)
    members[2].signal(signal.SIGKILL)
    time.sleep(16)
    group.all_stop()


def frozen(stage: Stage) -> None:
    """c-3 is stopped for 10 s; its session expires, and it comes back under its old member id."""
    group = stage.group("frozen")
    members = _three(group)
    time.sleep(14)
    members[2].signal(signal.SIGSTOP)
    time.sleep(10)
    members[2].signal(signal.SIGCONT)
    time.sleep(10)
    group.all_stop()


def crash_loop(stage: Stage) -> None:
    """c-2 joins, dies and is started again, four times."""
    group = stage.group("crash-loop")
    group.starts("c-1")
    for _ in range(4):
        victim = group.starts("c-2")
        time.sleep(5)
        victim.signal(signal.SIGKILL)
        time.sleep(8)
    time.sleep(3)
    group.all_stop()


def storm(stage: Stage) -> None:
    """Members come and go every two seconds; all in an orderly way."""
    group = stage.group("storm")
    group.starts("c-0")
    time.sleep(6)
    running: list[Member] = []
    for number in range(1, 13):
        running.append(group.starts(f"c-{number}"))
        time.sleep(2)
        if number % 3:
            running.pop(0).stop()
            time.sleep(1)
    time.sleep(6)
    group.all_stop()


def rolling(stage: Stage) -> None:
    """A rolling deploy of four dynamic members."""
    group = stage.group("rolling")
    members = [group.starts(f"c-{number}") for number in (1, 2, 3, 4)]
    time.sleep(12)
    for member in members:
        member.stop()
        time.sleep(2)
        group.starts(member.name)
        time.sleep(6)
    time.sleep(6)
    group.all_stop()


def static_restarts(stage: Stage) -> None:
    """Three static members restart one after the other, each back within its session."""
    group = stage.group("static-restarts")
    members = [group.starts(f"c-{number}", instance=f"i-{number}") for number in (1, 2, 3)]
    time.sleep(12)
    for number, member in enumerate(members, 1):
        member.stop()
        time.sleep(1)
        group.starts(member.name, instance=f"i-{number}")
        time.sleep(7)
    group.all_stop()


def static_away(stage: Stage) -> None:
    """A static member is away for longer than its session, and comes back."""
    group = stage.group("static-away")
    members = [group.starts(f"c-{number}", instance=f"i-{number}") for number in (1, 2, 3)]
    time.sleep(12)
    members[1].stop()
    time.sleep(10)
    group.starts("c-2", instance="i-2")
    time.sleep(12)
    group.all_stop()


def migrates(stage: Stage) -> None:
    """Three classic members become members of the consumer protocol, one after the other."""
    group = stage.group("migrates")
    _migrate(group, [group.starts(f"c-{number}", protocol="classic") for number in (1, 2, 3)], "consumer")
    group.all_stop()


def migrates_back(stage: Stage) -> None:
    """Three classic members become members of the consumer protocol, and classic ones again."""
    group = stage.group("migrates-back")
    members = [group.starts(f"c-{number}", protocol="classic") for number in (1, 2, 3)]
    members = _migrate(group, members, "consumer")
    _migrate(group, members, "classic")
    group.all_stop()


def _migrate(group: Group, members: list[Member], protocol: str) -> list[Member]:
    time.sleep(10)
    again = []
    for member in members:
        member.stop()
        time.sleep(1)
        again.append(group.starts(member.name, protocol=protocol))
        time.sleep(6)
    return again


def subscriptions(stage: Stage) -> None:
    """One of two members changes what it reads, again and again."""
    group = stage.group("subscriptions")
    stage.topic("subscriptions-more")
    group.starts("c-1")
    fickle = group.starts("c-2")
    for topics in ("subscriptions,subscriptions-more", "subscriptions") * 2:
        time.sleep(8)
        fickle.order(f"subscribe {topics}")
    time.sleep(8)
    group.all_stop()


def topic_grows(stage: Stage) -> None:
    """Four partitions become eight."""
    group = stage.group("topic-grows")
    group.starts("c-1")
    group.starts("c-2")
    time.sleep(12)
    group.tell("partitions_added")
    stage.grow("topic-grows", 8)
    time.sleep(12)
    group.all_stop()


def pattern(stage: Stage) -> None:
    """Topics appear that fit the members' pattern."""
    group = stage.group("pattern")
    for name in ("c-1", "c-2"):
        group.starts(name, topics=["^pattern.*"])
    for number in (1, 2):
        time.sleep(15)
        group.tell("topic_created", topic=f"pattern-{number}")
        stage.topic(f"pattern-{number}")
    time.sleep(15)
    group.all_stop()


def idle(stage: Stage) -> None:
    """Four members for two partitions."""
    group = stage.group("idle", partitions=2)
    for number in range(1, 5):
        group.starts(f"c-{number}")
    time.sleep(30)
    group.all_stop()


def mixed_settings(stage: Stage) -> None:
    """Two members with different max.poll.interval.ms."""
    group = stage.group("mixed-settings")
    group.starts("c-1", max_poll_ms=10_000)
    group.starts("c-2", max_poll_ms=60_000)
    time.sleep(30)
    group.all_stop()


def coordinator_restarts(stage: Stage) -> Group:
    """Two members, alive when the broker restarts at the end."""
    group = stage.group("coordinator-restarts")
    group.starts("c-1")
    group.starts("c-2")
    return group


TO_THE_END = (quiet, quiet_mixed, coordinator_restarts)
WAVES = (
    (held_back, never_given_up, poll_timeout, killed, frozen, topic_grows),
    (crash_loop, storm, rolling, static_restarts, migrates, subscriptions),
    (static_away, migrates_back, pattern, idle, mixed_settings),
)
