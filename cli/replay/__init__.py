"""`kohort replay`: what it is asked, what it prints, and how it ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from kohort.broker.lean_imports import without
from kohort.cli.connecting import addresses_of, config_option, security_of
from kohort.cli.early_end import INTERRUPTED, ends_with_signals
from kohort.cli.output import say


@click.command()
@click.argument("talk", type=click.Path(path_type=Path))
@click.argument("bootstrap", required=False)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="TIMES",
    help="Seconds of the recording in one of a clock's; 1 if left out, and without BOOTSTRAP as fast as answers allow.",
)
@click.option(
    "--rename",
    default="",
    metavar="SUFFIX",
    help="Play with other groups and transactional ids: their names, with this behind.",
)
@click.option(
    "--set",
    "-s",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the broker that is started where no BOOTSTRAP is given.",
)
@config_option
def replay(
    talk: Path, bootstrap: str | None, speed: float | None, rename: str, settings: tuple[str, ...], config: Path | None
) -> None:
    """Play TALK, which kohort proxy --record has written, and compare the answers.

    It is played to the cluster at BOOTSTRAP, kohort or any other Kafka; without it to a kohort of its own, whose
    clock is moved, so that nothing waits. Topics that are missing are created. Ids and times are not compared.

    Exit code 0: all is answered as it was recorded; 1: something is not; 2: it can't be played.
    """
    from kohort.cli.serving import read_assignments, refuse

    where = None if bootstrap is None else addresses_of(bootstrap)
    if where is None and (config is not None or rename):
        refuse("--command-config and --rename are for a cluster: name its BOOTSTRAP")
    if where is not None and settings:
        refuse("--set is for the broker that is started where no BOOTSTRAP is given")
    security = security_of(config)
    with without("hypothesis"):
        from kohort.broker.settings.setting import SettingError
        from kohort.client.client_connection import BrokerError
        from kohort.control.control_errors import ControlError
        from kohort.proxy.talk.replay_stage import ReplayError
        from kohort.proxy.talk.talk_file import TalkError, read_talk
        from kohort.testing.replaying import play_here, play_there

    def told(difference: object) -> None:
        for line in str(difference).split("\n"):
            say(line)

    ends_with_signals()
    try:
        recorded = read_talk(talk)
        if where is None:
            played = asyncio.run(play_here(recorded, read_assignments(settings), speed, told))
        else:
            played = asyncio.run(play_there(recorded, where, security, speed, rename, told))
    except (TalkError, ReplayError, BrokerError, ControlError, SettingError) as problem:
        refuse(str(problem))
    except KeyboardInterrupt:
        say(f"kohort: stopped before the end of {talk.name}", err=True)
        sys.exit(INTERRUPTED)
    if played.cut_off:
        say(f"{recorded.name}: {played.cut_off}, and was played up to there")
    for sentence in played.ambiguous:
        say(sentence)
    say(str(played))
    sys.exit(1 if played.different else 0)
