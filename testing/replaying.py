"""Replay of a recorded conversation, on a cluster or on a kohort of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from kohort.base.address import AddressError, parse_address
from kohort.client.client_connection import BrokerError
from kohort.client.security import OPEN, Security, SecurityError, from_file
from kohort.control.control_errors import ControlError
from kohort.proxy.talk.replay_player import Difference, Played, RealTime, play
from kohort.proxy.talk.replay_stage import ReplayError, ReplayStage
from kohort.proxy.talk.talk_file import Talk, TalkError, read_talk
from kohort.testing.cluster import Cluster
from kohort.testing.remote import refuse_patched

if TYPE_CHECKING:
    from kohort.testing.cluster_clock import Clock


class MovedClock:
    """Clock of kohort's own brokers, moved to the recorded times (`Pace`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start_ms: int | None = None
        clock.pause()

    async def until(self, at_ms: int) -> None:
        """Move the clock. Silent members of the recording expire as they did there."""
        if self._start_ms is None:
            self._start_ms = self._clock.now_ms - at_ms
        ahead_ms = self._start_ms + at_ms - self._clock.now_ms
        if ahead_ms > 0:
            await self._clock.advance(ahead_ms / 1000, expire_live_members=True)

    def behind(self, late_ms: int) -> None:
        """Ignore the delay: this clock stops meanwhile."""


def replay(
    talk: str | Path,
    bootstrap: str | None = None,
    *,
    command_config: str | Path | None = None,
    speed: float | None = None,
    rename: str = "",
    settings: Mapping[str, object] | None = None,
) -> Played:
    """Replay a `.talk` file of `kohort proxy --record`, and block until it has ended.

    `played.differences` has the differences from the recording. Within an event loop await `replay_async` instead.

    Args:
        bootstrap: HOST:PORT, several with commas. None starts a kohort with `settings`, whose clock is moved, so that
            nothing waits; `command_config` and `rename` have no effect then.
        speed: Recorded seconds per second of the clock.
        rename: Suffix for groups and transactional ids.
        settings: Broker settings; without effect with `bootstrap`.

    Raises:
        ControlError: The file can't be replayed.
        SettingError: A setting can't be used.
    """
    refuse_patched()
    played: list[Played] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            replaying = replay_async(
                talk, bootstrap, command_config=command_config, speed=speed, rename=rename, settings=settings
            )
            played.append(asyncio.run(replaying))
        except BaseException as error:  # raised below
            errors.append(error)

    thread = Thread(target=run, name="replay", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
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
    """Replay a `.talk` file in the running event loop, as `replay` does."""
    try:
        recorded = read_talk(Path(talk))
        if bootstrap is None:
            return await play_here(recorded, settings or {}, speed)
        addresses = [parse_address(address.strip()) for address in bootstrap.split(",")]
        security = OPEN if command_config is None else from_file(Path(command_config))
        return await play_there(recorded, addresses, security, speed, rename)
    except (AddressError, BrokerError, ReplayError, SecurityError, TalkError) as problem:
        raise ControlError(str(problem)) from None


async def play_there(
    talk: Talk,
    addresses: list[tuple[str, int]],
    security: Security = OPEN,
    speed: float | None = None,
    rename: str = "",
    on_difference: Callable[[Difference], None] | None = None,
) -> Played:
    """Replay on an existing cluster. Raise BrokerError, ReplayError or SecurityError on failure."""
    return await play(talk, ReplayStage(addresses, security), RealTime(speed or 1.0), on_difference, rename)


async def play_here(
    talk: Talk,
    settings: Mapping[str, object],
    speed: float | None = None,
    on_difference: Callable[[Difference], None] | None = None,
) -> Played:
    """Replay on a kohort of its own. Raise BrokerError, ReplayError or SettingError on failure."""
    async with Cluster(profile="faithful", settings=settings) as kafka:
        stage = ReplayStage([parse_address(kafka.bootstrap)], OPEN)
        if speed is None:
            return await play(talk, stage, MovedClock(kafka.clock), on_difference)
        kafka.clock.run(speed)
        return await play(talk, stage, RealTime(speed), on_difference)
