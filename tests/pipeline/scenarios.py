"""What happens to groups, played by consumers on the real coordinator. Each scenario is one kind of trouble."""

from __future__ import annotations

from collections.abc import Callable

from tests.pipeline.play import Play


def healthy() -> Play:
    play = Play()
    play.starts("ada")
    play.starts("bob")
    play.run(120)
    return play


def grows_once() -> Play:
    play = healthy()
    play.starts("eve")
    play.run(120)
    return play


def slow_member() -> Play:
    """Keep bob in a batch for 25 s when eve joins."""
    play = Play()
    play.starts("ada")
    bob = play.starts("bob")
    play.run(60)
    bob.works(25)
    play.starts("eve")
    play.run(120)
    return play


def evicted_member() -> Play:
    """Keep bob busy beyond its rebalance timeout, so that it is removed at the barrier."""
    play = Play()
    play.starts("ada", rebalance_ms=20_000)
    bob = play.starts("bob", rebalance_ms=20_000)
    play.run(60)
    bob.works(40)
    play.starts("eve", rebalance_ms=20_000)
    play.run(150)
    return play


def gives_up() -> Play:
    """Let bob leave at its poll timeout without a reason, while the rebalance waits for it."""
    play = Play()
    play.starts("ada", rebalance_ms=20_000)
    bob = play.starts("bob", rebalance_ms=20_000)
    play.run(60)
    bob.works(30)
    play.run(2)
    play.starts("eve", rebalance_ms=20_000)
    play.run(18)
    bob.times_out()
    play.run(100)
    return play


def session_lost() -> Play:
    """Freeze bob's process for longer than its session."""
    play = Play()
    play.starts("ada")
    bob = play.starts("bob")
    play.run(60)
    bob.dead = True
    play.run(15)
    bob.dead = False
    play.run(90)
    return play


def crash_loop() -> Play:
    play = Play()
    play.starts("ada", session_ms=6_000)
    play.starts("bob", session_ms=6_000)
    play.run(60)
    for _ in range(6):
        eve = play.starts("eve", session_ms=6_000)
        play.run(12)
        eve.crashes()
        play.run(15)
    play.run(60)
    return play


def rolling_restart() -> Play:
    play = Play()
    names = ("ada", "bob", "eve", "joe")
    running = {name: play.starts(name) for name in names}
    play.run(90)
    for name in names:
        running[name].closes()
        play.run(6)
        running[name] = play.starts(name)
        play.run(20)
    play.run(60)
    return play


def autoscaler() -> Play:
    play = Play()
    play.starts("ada")
    play.starts("bob")
    play.run(60)
    for number in range(4):
        more = [play.starts(f"{name}-{number}") for name in ("eve", "joe")]
        play.run(60)
        for each in more:
            each.closes()
        play.run(60)
    return play


def slow_leader() -> Play:
    play = Play()
    ada = play.starts("ada")
    ada.assign_s = 4
    play.starts("bob")
    play.run(60)
    for _ in range(4):
        ada.rejoins()
        play.run(100)
    return play


def topic_grows() -> Play:
    play = Play()
    ada = play.starts("ada")
    play.starts("bob")
    play.run(60)
    play.partitions = 9
    ada.rejoins()
    play.run(120)
    return play


def idle_members() -> Play:
    play = Play(partitions=2)
    for name in ("ada", "bob", "eve", "joe"):
        play.starts(name)
    play.run(180)
    return play


def trickle() -> Play:
    """Start members one after the other, each just after the last rebalance."""
    play = Play()
    for number in range(6):
        play.starts(f"c-{number}")
        play.run(4)
    play.run(120)
    return play


def stuck_partition() -> Play:
    play = Play()
    ada = play.starts("ada")
    play.starts("bob")
    play.run(60)
    ada.stuck = {min(ada.partitions)}
    play.run(150)
    return play


def mixed_settings() -> Play:
    play = Play()
    play.starts("ada", rebalance_ms=60_000)
    play.starts("bob", rebalance_ms=600_000)
    play.run(120)
    return play


def static_restarts() -> Play:
    """Restart static members within their sessions, without a rebalance."""
    play = Play()
    running = {name: play.starts(name, instance=name, session_ms=30_000) for name in ("ada", "bob")}
    play.run(60)
    for name in running:
        running[name].closes()
        play.run(8)
        running[name] = play.starts(name, instance=name, session_ms=30_000)
        play.run(60)
    return play


def offsets_expired() -> Play:
    """Stop the only member for longer than offsets are kept, then continue at the log's end."""
    play = Play(offsets_retention_ms=600_000)
    ada = play.starts("ada")
    play.run(60)
    ada.closes()
    play.run(1)
    play.away(900)
    play.forgotten()
    play.starts("ada")
    play.run(120)
    return play


def away_for_a_while() -> Play:
    """Stop the only member for less than that, without loss."""
    play = Play(offsets_retention_ms=3_600_000)
    ada = play.starts("ada")
    play.run(60)
    ada.closes()
    play.run(1)
    play.away(900)
    play.starts("ada")
    play.run(120)
    return play


Expected = tuple[set[str], set[str]]
"""What must be found, and what else may be said: informational, or true as well."""

SCENARIOS: dict[Callable[[], Play], Expected] = {
    healthy: (set(), set()),
    grows_once: (set(), set()),
    slow_member: ({"R01"}, {"R21"}),
    evicted_member: ({"R01"}, {"R22", "R21"}),
    gives_up: ({"R01"}, {"R02", "R21"}),
    session_lost: ({"R03"}, {"R21"}),
    crash_loop: ({"R05"}, {"R26", "R10", "R03", "R21"}),
    rolling_restart: ({"R04"}, {"R26", "R10"}),
    autoscaler: ({"R06"}, {"R10", "R26"}),
    slow_leader: ({"R14"}, {"R10"}),
    topic_grows: ({"R07"}, set()),
    idle_members: ({"R18"}, set()),
    trickle: ({"R25"}, {"R26", "R10"}),
    stuck_partition: ({"R20"}, set()),
    mixed_settings: ({"R28"}, set()),
    static_restarts: (set(), {"R12"}),
    offsets_expired: ({"R27"}, set()),
    away_for_a_while: (set(), set()),
}
