"""Plays: the cost of known disturbances under different settings."""

from __future__ import annotations

import pytest

from kohort.whatif.played_settings import Settings
from kohort.whatif.playing import Run, play
from kohort.whatif.script import Event
from tests.whatif.recorded import rolling, script

RANGE = Settings()
COOPERATIVE = Settings(assignor="cooperative-sticky")
STATIC = Settings(static=True)
CONSUMER = Settings(protocol="consumer", heartbeat_ms=5_000)


@pytest.mark.parametrize(
    ("settings", "rebalances"),
    [(RANGE, 8), (STATIC, 0), (COOPERATIVE, 12), (CONSUMER, 8), (Settings(library="librdkafka"), 8)],
)
def test_rolling_restart_causes_rebalances(settings: Settings, rebalances: int) -> None:
    figures = play(rolling(), settings, seed=1).figures
    assert figures.rebalances == rebalances
    assert figures.records_read_again == 0


def test_static_members_keep_partitions_waiting() -> None:
    figures = play(rolling(), STATIC, seed=1).figures
    away_s, owned, members = 3, 2, 4
    assert figures.stalled_partition_seconds == pytest.approx(away_s * owned * members, rel=0.25)


def test_cooperative_restart_costs_more_than_eager() -> None:
    costs = [play(rolling(), settings, seed=1).figures.stalled_partition_seconds for settings in (RANGE, COOPERATIVE)]
    assert costs[1] > 1.5 * costs[0]


def test_commits_overstate_cooperative_stalls() -> None:
    played = play(rolling(), COOPERATIVE, seed=1)
    assert played.by_commits["stalled_partition_seconds"] > 1.5 * played.figures.stalled_partition_seconds


def test_librdkafka_blocks_on_commits() -> None:
    librdkafka = Settings(library="librdkafka", assignor="cooperative-sticky")
    costs = [
        play(rolling(), settings, seed=1).figures.stalled_partition_seconds for settings in (COOPERATIVE, librdkafka)
    ]
    assert costs[1] > 1.3 * costs[0]


@pytest.mark.parametrize("session_ms", [10_000, 45_000])
def test_crash_stops_eager_group(session_ms: int) -> None:
    crash = [Event(25_000, "kill", "m2"), Event(30_000, "start", "m2")]
    figures = play(script(crash, end_ms=100_000), Settings(session_ms=session_ms), seed=1).figures
    # The group stops when the successor has joined and waits for the rest of the session.
    assert figures.group_stop_seconds == pytest.approx((session_ms - 5_000 - 1_500) / 1000, abs=2)
    assert figures.rebalances == 1


def test_slow_batch_stops_eager_group() -> None:
    slow = [Event(25_000, "slow", "m2", 12_000), Event(26_500, "start", "m5")]
    eager, cooperative = (
        play(script(slow, end_ms=60_000), settings, seed=1).figures.group_stop_seconds
        for settings in (RANGE, COOPERATIVE)
    )
    assert eager > 5
    assert cooperative == 0


def test_frozen_process_expires() -> None:
    pause = [Event(25_000, "pause", "m2", 20_000)]
    figures = play(script(pause, end_ms=80_000), Settings(session_ms=10_000), seed=1).figures
    assert figures.rebalances == 2  # without the member, and with it


def test_poison_below_poll_interval_is_livelock() -> None:
    poison = [Event(25_000, "poison", ms=45_000, partition=3), Event(135_000, "cure")]
    workload = script(poison, end_ms=165_000, members=3)
    patient, impatient = (play(workload, Settings(max_poll_ms=ms), seed=1).figures for ms in (60_000, 15_000))
    assert patient.rebalances == 0
    assert impatient.rebalances >= 5
    assert impatient.records_read_again > 500


def test_user_data_prevents_conversion() -> None:
    later = Settings(library="librdkafka", protocol="consumer", heartbeat_ms=5_000)
    moves = {
        assignor: Settings(library="librdkafka", assignor=assignor, restarted_with=later)
        for assignor in ("range", "cooperative-sticky")
    }
    working = {name: play(rolling(3), move, seed=1).figures.members_working_at_the_end for name, move in moves.items()}
    assert working == {"range": 3, "cooperative-sticky": 1}


def test_seed_repeats_play() -> None:
    assert play(rolling(), RANGE, seed=7) == play(rolling(), RANGE, seed=7)


@pytest.mark.parametrize(
    "events",
    [
        rolling().events,
        [Event(25_000, "kill", "m2"), Event(30_000, "start", "m2")],
        [Event(25_000, "slow", "m2", 12_000), Event(26_500, "start", "m5")],
        [Event(25_000, "poison", ms=45_000, partition=3), Event(85_000, "cure")],
        [Event(25_000, "grow", partitions=12)],
        [Event(25_000, "slow", "m2", 12_000), Event(26_500, "start", "m5"), Event(60_000, "slow", "m3", 12_000)],
    ],
    ids=["rolling", "crash", "slow", "poison", "grow", "twice slow"],
)
@pytest.mark.parametrize(
    "settings",
    [
        RANGE,
        COOPERATIVE,
        CONSUMER,
        Settings(max_poll_ms=15_000),
        Settings(static=True, max_poll_ms=6_000, session_ms=10_000),
        Settings(auto_commit_ms=5_000),
        Settings(library="librdkafka", metadata_ms=10_000),
        Settings(restarted_with=CONSUMER),
    ],
    ids=["range", "cooperative", "consumer", "poll15", "poll6", "auto", "librdkafka", "move"],
)
def test_quiet_time_ahead_changes_nothing(events: list[Event], settings: Settings) -> None:
    history = script(events, end_ms=100_000)
    ahead, stepwise = Run(history, settings, seed=2), Run(history, settings, seed=2)
    stepwise.plays_quiet_time_ahead = False
    played, expected = ahead.play(), stepwise.play()
    assert (played.figures, played.stalls, played.rebalances) == (
        expected.figures,
        expected.stalls,
        expected.rebalances,
    )
    assert (ahead.progress, ahead.commits) == (stepwise.progress, stepwise.commits)
    assert ahead.cluster.scheduled < stepwise.cluster.scheduled  # events were left out
