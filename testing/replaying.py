"""A recorded conversation, played on a cluster or on a kohort of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from kohort.broker.address import AddressError, parse_address
from kohort.client.client_connection import BrokerError
from kohort.client.security import OPEN, Security, SecurityError, from_file
from kohort.control.control_errors import ControlError
from kohort.proxy.talk.replay_line import ReplayedCluster
from kohort.proxy.talk.replay_player import Difference, Played, RealTime, play
from kohort.proxy.talk.replay_stage import ReplayError, ReplayStage
from kohort.proxy.talk.talk_file import Talk, TalkError, read_talk
from kohort.testing.cluster import Cluster
from kohort.testing.remote import refuse_patched

if TYPE_CHECKING:
    from kohort.testing.cluster_clock import Clock


class MovedClock:
    """The clock of kohort's own brokers, which is moved to the moment at which something was said (`Pace`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start_ms: int | None = None
        clock.pause()

    async def until(self, at_ms: int) -> None:
        """See `Pace`. Nobody is kept alive: who was silent in the recording is silent here."""
        if self._start_ms is None:
            self._start_ms = self._clock.now_ms - at_ms
        ahead_ms = self._start_ms + at_ms - self._clock.now_ms
        if ahead_ms > 0:
            await self._clock.advance(ahead_ms / 1000, expire_live_members=True)

    def behind(self, late_ms: int) -> None:
        """See `Pace`. This clock stands still meanwhile."""


def replay(
    talk: str | Path,
    bootstrap: str | None = None,
    *,
    command_config: str | Path | None = None,
    speed: float | None = None,
    rename: str = "",
    settings: Mapping[str, object] | None = None,
) -> Played:
    """Plays a `.talk` file of `kohort proxy --record`. `played.differences` says what was not as recorded.

    `bootstrap`: HOST:PORT, several with commas. None: a kohort of its own, with `settings`, whose clock is moved, so
    that nothing waits; `command_config` and `rename` mean nothing then, nor do `settings` with `bootstrap`. `speed`:
    seconds of the recording in one of a clock's. `rename`: a suffix for groups and transactional ids. It waits until
    all is played; within an event loop await `replay_async`, which is the same. Raises ControlError for what can't be
    played, SettingError for a setting that can't be used.
    """
    refuse_patched()
    played: list[Played] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            told = replay_async(
                talk, bootstrap, command_config=command_config, speed=speed, rename=rename, settings=settings
            )
            played.append(asyncio.run(told))
        except BaseException as problem:  # raised below
            problems.append(problem)

    thread = Thread(target=run, name="replay", daemon=True)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]
    return played[0]


async def replay_async(
    talk: str | Path,
    bootstrap: str | None = None,
    *,
    command_config: str | Path | None = None,
    speed: float | None = None,
    rename: str = "",
    settings: Mapping[str, object] | None = None,
) -> Played:
    """`replay`, for tests with an event loop."""
    try:
        recorded = read_talk(Path(talk))
        if bootstrap is None:
            return await play_here(recorded, settings or {}, speed)
        where = [parse_address(each.strip()) for each in bootstrap.split(",")]
        security = OPEN if command_config is None else from_file(Path(command_config))
        return await play_there(recorded, where, security, speed, rename)
    except (AddressError, BrokerError, ReplayError, SecurityError, TalkError) as problem:
        raise ControlError(str(problem)) from None


async def play_there(
    talk: Talk,
    where: list[tuple[str, int]],
    security: Security = OPEN,
    speed: float | None = None,
    rename: str = "",
    told: Callable[[Difference], None] | None = None,
) -> Played:
    """Plays on a cluster. Raises BrokerError, ReplayError, SecurityError."""
    cluster = ReplayedCluster(where, security, security.context() if security.tls else None)
    return await play(talk, ReplayStage(cluster), RealTime(speed or 1.0), told, rename)


async def play_here(
    talk: Talk,
    settings: Mapping[str, object],
    speed: float | None = None,
    told: Callable[[Difference], None] | None = None,
) -> Played:
    """Plays on a kohort of its own. Raises BrokerError, ReplayError, SettingError."""
    async with Cluster(profile="faithful", settings=settings) as kafka:
        where = [parse_address(kafka.bootstrap)]
        stage = ReplayStage(ReplayedCluster(where, OPEN, None))
        if speed is None:
            return await play(talk, stage, MovedClock(kafka.clock), told)
        kafka.clock.run(speed)
        return await play(talk, stage, RealTime(speed), told)
