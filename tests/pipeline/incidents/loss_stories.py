"""Incidents that lose records or stop a service, most of them without a rebalance that shows it; and healthy habits.

Each has a group of the story's name. Sessions last 6 s unless said. The broker refuses to convert classic groups.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from tests.pipeline.incidents.stage import Group, Member, Stage

_PATIENT_MS = 120_000
_ONLY_RANGE, _ONLY_ROUNDROBIN = (
    {"partition.assignment.strategy": name} for name in ("range", "roundrobin")
)  # fmt: skip


def _starts(group: Group, protocol: str, count: int = 3) -> list[Member]:
    return [group.starts(f"c-{number}", protocol=protocol, max_poll_ms=_PATIENT_MS) for number in range(1, count + 1)]


def _hanging(stage: Stage, name: str, protocol: str) -> None:
    group = stage.group(name)
    _starts(group, protocol, 2)
    time.sleep(25)
    producer = stage.transaction(name)
    group.tell("transaction_begins")
    time.sleep(50)
    producer.abort_transaction(60)
    group.tell("transaction_ends")
    time.sleep(15)
    group.all_stop()


def hanging_transaction(stage: Stage) -> None:
    """A producer leaves its transaction open for 50 s; two read_committed members get nothing."""
    _hanging(stage, "hanging-transaction", "classic")


def hanging_transaction_848(stage: Stage) -> None:
    """A producer leaves its transaction open for 50 s, before a consumer group."""
    _hanging(stage, "hanging-transaction-848", "consumer")


def _away(stage: Stage, name: str, protocol: str) -> None:
    group = stage.group(name)
    members = _starts(group, protocol)
    time.sleep(25)
    group.tell("dependency_away")
    for member in members:
        member.order("stall 45")
    time.sleep(45)
    group.tell("dependency_back")
    time.sleep(20)
    group.all_stop()


def dependency_away(stage: Stage) -> None:
    """A dependency of all three members is unavailable for 45 s: they wait, and send heartbeats."""
    _away(stage, "dependency-away", "classic")


def dependency_away_848(stage: Stage) -> None:
    """A dependency of all three members of a consumer group is unavailable for 45 s."""
    _away(stage, "dependency-away-848", "consumer")


def overtaken(stage: Stage) -> None:
    """Members that are too slow; retention deletes what they haven't read."""
    group = stage.group("overtaken")
    stage.rate("overtaken", 20)
    for number in (1, 2):
        group.starts(f"c-{number}", protocol="classic", record_s=0.2, max_poll_ms=_PATIENT_MS)
    time.sleep(50)
    group.tell("retention")
    stage.purge("overtaken", 20)
    time.sleep(20)
    group.all_stop()


def unowned(stage: Stage) -> None:
    """Four partitions become eight; the members find the new ones after a minute, and begin them at their ends."""
    group = stage.group("unowned")
    slowly = {
        "topic.metadata.refresh.interval.ms": 60_000,
        "metadata.max.age.ms": 180_000,
        "auto.offset.reset": "latest",
    }
    for number in (1, 2):
        group.starts(f"c-{number}", protocol="classic", config=slowly)
    time.sleep(25)
    group.tell("partitions_added")
    stage.grow("unowned", 8)
    time.sleep(75)
    group.all_stop()


def refused_rollout(stage: Stage) -> None:
    """New pods have no assignor in common with the old ones, and can't join before the last of these is gone."""
    group = stage.group("refused-rollout")
    old = [
        group.starts(f"orders-6d5f8b7c9-{tail}", protocol="classic", config=_ONLY_RANGE)
        for tail in ("b2x4k", "q8zrt", "w9wpm")
    ]
    time.sleep(25)
    for member, tail in zip(old, ("d4d2s", "k7qlb", "t9xcc"), strict=True):
        group.starts(f"orders-84c7d9f6b-{tail}", protocol="classic", config=_ONLY_ROUNDROBIN)
        time.sleep(4)
        member.stop()
        time.sleep(12)
    time.sleep(20)
    group.all_stop()


def killed_deploy(stage: Stage) -> None:
    """A deploy kills four pods without close, and starts others in their place."""
    group = stage.group("killed-deploy")
    old = [
        group.starts(f"mailer-7d9f8b6c5-{tail}", protocol="classic") for tail in ("x2k4q", "8zrtv", "mm9wp", "c5vbn")
    ]
    time.sleep(25)
    for member, tail in zip(old, ("kq7lb", "w4d2s", "t9xcc", "z8hjk"), strict=True):
        member.signal(signal.SIGKILL)
        group.starts(f"mailer-5c8d7f9b4-{tail}", protocol="classic")
        time.sleep(10)
    time.sleep(15)
    group.all_stop()


def refused_commits(stage: Stage) -> None:
    """Members commit after each batch of some seconds; at rebalances that is too late, and the batch is done twice."""
    group = stage.group("refused-commits")
    for number, batch_s in enumerate((5, 6, 7), 1):
        group.batches(f"c-{number}", batch_s=batch_s)
    time.sleep(25)
    for _ in range(4):
        guest = group.batches("c-9", batch_s=5)
        time.sleep(13)
        guest.stop()
        time.sleep(11)
    group.all_stop()


def recreated(stage: Stage) -> None:
    """A topic is deleted and made again while its group lives."""
    group = stage.group("recreated")
    _starts(group, "classic", 2)
    time.sleep(30)
    group.tell("topic_recreated")
    stage.again("recreated")
    time.sleep(30)
    group.all_stop()


def refused_migration(stage: Stage) -> None:
    """A client of the consumer protocol repeatedly requests to join a classic group; the broker's policy forbids it."""
    group = stage.group("refused-migration")
    _starts(group, "classic", 2)
    time.sleep(20)
    for _ in range(4):
        refused = group.starts("c-3")
        time.sleep(6)
        refused.end()
    group.all_stop()


def slow_record(stage: Stage) -> None:
    """One record takes longer than max.poll.interval.ms: each owner of its partition leaves at its poll timeout."""
    group = stage.group("slow-record")
    for number in (1, 2, 3):
        group.starts(
            f"c-{number}", protocol="classic", max_poll_ms=8_000, slow_record=[1, 100, 14], stores=True,
            config={"enable.auto.offset.store": False},
        )  # fmt: skip
    time.sleep(110)
    group.all_stop()


def throttled_848(stage: Stage) -> None:
    """c-1 works slowly on its records; c-2 joins and waits for partitions that c-1 has not revoked."""
    group = stage.group("throttled-848")
    group.starts("c-1", record_s=0.2, slow_revoke_s=12, max_poll_ms=60_000)
    time.sleep(25)
    group.starts("c-2", max_poll_ms=60_000)
    time.sleep(30)
    group.all_stop()


def throttled(stage: Stage) -> None:
    """c-2 does three records a second; ten come."""
    group = stage.group("throttled", partitions=6)
    for number in (1, 2, 3):
        group.starts(f"c-{number}", protocol="classic", record_s=0.33 if number == 2 else 0, max_poll_ms=_PATIENT_MS)
    time.sleep(90)
    group.all_stop()


def hot_key(stage: Stage) -> None:
    """Most records have one key: one partition gets twenty times as many as the others, more than its owner can do."""
    group = stage.group("hot-key", partitions=6)
    stage.rate("hot-key", 2, 2, 2, 40, 2, 2)
    for number in (1, 2, 3):
        group.starts(f"c-{number}", protocol="classic", record_s=0.05, max_poll_ms=_PATIENT_MS)
    time.sleep(90)
    group.all_stop()


def hanging_leader(stage: Stage) -> None:
    """The leader's assignor hangs in the second rebalance, until the members are removed."""
    group = stage.group("hanging-leader")
    group.pod("c-1", "127.0.20.1", max_poll_ms=20_000, session_ms=20_000, assign_takes_s=[0, 45])
    time.sleep(25)
    group.pod("c-2", "127.0.20.2", max_poll_ms=20_000, session_ms=20_000)
    time.sleep(70)
    group.all_stop()


def in_turns(stage: Stage) -> None:
    """Two members pause for 35 s, one after the other."""
    group = stage.group("in-turns")
    members = _starts(group, "classic", 2)
    time.sleep(25)
    for member in members:
        member.order("stall 35")
        time.sleep(38)
    group.all_stop()


def cut_off(stage: Stage) -> None:
    """All members of four groups are cut off from the broker for 12 s at the same moment."""
    groups = [stage.group(f"cut-off-{number}") for number in (1, 2, 3, 4)]
    members = [group.starts(f"c-{n}", protocol="classic") for group in groups for n in (1, 2, 3)]
    time.sleep(30)
    for member in members:
        member.signal(signal.SIGSTOP)
    time.sleep(12)
    for member in members:
        member.signal(signal.SIGCONT)
    time.sleep(25)
    for group in groups:
        group.all_stop()


def restless_leader(stage: Stage) -> None:
    """The leader requests a rebalance every 8 s."""
    group = stage.group("restless-leader")
    leader = group.pod("c-1", "127.0.21.1")
    time.sleep(8)
    for number in (2, 3):
        group.pod(f"c-{number}", f"127.0.21.{number}")
    time.sleep(15)
    for _ in range(10):
        leader.order("rejoin")
        time.sleep(8)
    group.all_stop()


def once_a_minute(stage: Stage) -> None:
    """Healthy: two members commit once a minute."""
    group = stage.group("once-a-minute")
    _with(group, {"auto.commit.interval.ms": 60_000})
    time.sleep(200)
    group.all_stop()


def low_traffic(stage: Stage) -> None:
    """Healthy: a record every 40 s."""
    group = stage.group("low-traffic")
    stage.rate("low-traffic", 0.025)
    _with(group, {"auto.commit.interval.ms": 5_000})
    time.sleep(200)
    group.all_stop()


def nothing_new(stage: Stage) -> None:
    """Healthy: no record comes for 50 s."""
    group = stage.group("nothing-new")
    _with(group, {"auto.commit.interval.ms": 5_000})
    time.sleep(60)
    stage.rate("nothing-new", 0)
    time.sleep(50)
    stage.rate("nothing-new", 5)
    time.sleep(40)
    group.all_stop()


def console(stage: Stage) -> None:
    """Healthy: a consumer joins this group as an observer, three times, for 15 s each."""
    group = stage.group("console")
    for _ in range(3):
        looking = group.starts("console-consumer", protocol="classic")
        time.sleep(15)
        looking.stop()
        time.sleep(35)


def nightly(stage: Stage) -> None:
    """Healthy: a batch job reads all there is, twice, and goes."""
    group = stage.group("nightly")
    time.sleep(20)
    for _ in range(2):
        _with(group, {"auto.commit.interval.ms": 1_000})
        time.sleep(20)
        group.all_stop()
        time.sleep(60)


def assigned(stage: Stage) -> None:
    """Healthy: a consumer without membership (assign)."""
    group = stage.group("assigned")
    group.pod("c-1", "127.0.22.1", assign=["assigned", 0])
    time.sleep(150)
    group.all_stop()


def transactions(stage: Stage) -> None:
    """Healthy: two read_committed members of a topic with a transaction every four seconds."""
    group = stage.group("transactions")
    _with(group, {"auto.commit.interval.ms": 5_000})
    producer = stage.transaction("transactions")
    for _ in range(40):
        time.sleep(4)
        producer.commit_transaction(60)
        stage.in_transaction(producer, "transactions")
    producer.abort_transaction(60)
    group.all_stop()


def purged(stage: Stage) -> None:
    """Healthy: what was read is deleted, as Kafka Streams does with its own topics."""
    group = stage.group("purged")
    _starts(group, "consumer")
    for _ in range(5):
        time.sleep(25)
        stage.purge("purged", 30)
    group.all_stop()


def _with(group: Group, config: dict[str, object]) -> None:
    for number in (1, 2):
        group.starts(f"c-{number}", protocol="classic", config=config)


TO_THE_END: tuple[Callable[[Stage], Group], ...] = ()
WAVES = (
    (hanging_transaction, hanging_transaction_848, dependency_away, dependency_away_848, overtaken, unowned, recreated),
    (refused_rollout, killed_deploy, refused_commits, refused_migration, slow_record, throttled_848),
    (throttled, hot_key, hanging_leader, in_turns, restless_leader),
    (cut_off,),
    (once_a_minute, low_traffic, nothing_new, console, nightly, assigned, transactions, purged),
)
HEALTHY = tuple(story.__name__.replace("_", "-") for story in WAVES[-1])
