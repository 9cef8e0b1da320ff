"""`kohort replay`: its options, output and exit code."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from kohort.base.lean_imports import without
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
    help="Seconds of the recording per second.  [default: 1; without BOOTSTRAP as fast as responses allow]",
)
@click.option(
    "--rename",
    default="",
    metavar="SUFFIX",
    help="Append this to the names of groups and transactional ids.",
)
@click.option(
    "--set",
    "-s",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the broker that is started without BOOTSTRAP.",
)
@click.option(
    "--anonymize",
    "anonymous",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Play nothing, but write the recording there with other names, to share it; FILE must be new.",
)
@config_option
def replay(
    talk: Path,
    bootstrap: str | None,
    speed: float | None,
    rename: str,
    settings: tuple[str, ...],
    anonymous: Path | None,
    config: Path | None,
) -> None:
    """Replay TALK, which kohort proxy --record has written, and compare the responses.

    It is played to the cluster at BOOTSTRAP, kohort or any other Kafka; without BOOTSTRAP to a kohort of its own, whose
    clock is moved, so that nothing waits. Missing topics are created. Ids and times are not compared.

    Exit code 0: all responses are as recorded; 1: some differ; 2: the recording can't be played.
    """
    from kohort.cli.serving import read_assignments, refuse

    if anonymous is not None:
        return _anonymize(talk, anonymous, plays=bool(bootstrap or speed or rename or settings))
    addresses = None if bootstrap is None else addresses_of(bootstrap)
    if addresses is None and (config is not None or rename):
        refuse("--command-config and --rename require a BOOTSTRAP")
    if addresses is not None and settings:
        refuse("--set cannot be combined with a BOOTSTRAP: it configures the broker that is started without one")
    security = security_of(config)
    with without("hypothesis"):
        from kohort.broker.settings.setting import SettingError
        from kohort.client.client_connection import BrokerError
        from kohort.control.control_errors import ControlError
        from kohort.proxy.talk.replay_stage import ReplayError
        from kohort.proxy.talk.talk_file import TalkError, read_talk
        from kohort.testing.replaying import play_here, play_there

    ends_with_signals()
    try:
        recorded = read_talk(talk)
        if addresses is None:
            played = asyncio.run(play_here(recorded, read_assignments(settings), speed, _print_lines))
        else:
            played = asyncio.run(play_there(recorded, addresses, security, speed, rename, _print_lines))
    except (TalkError, ReplayError, BrokerError, ControlError, SettingError) as error:
        refuse(str(error))
    except KeyboardInterrupt:
        say(f"kohort: interrupted before the end of {talk.name}", err=True)
        sys.exit(INTERRUPTED)
    if played.cut_off:
        say(f"{recorded.name}: {played.cut_off}; played up to there")
    for note in played.ambiguous:
        say(note)
    say(str(played))
    sys.exit(1 if played.different else 0)


def _anonymize(talk: Path, path: Path, *, plays: bool) -> None:
    """Write a recording with other names.

    Args:
        plays: Whether there are options for playing it, which are rejected.
    """
    from kohort.cli.serving import refuse

    if plays:
        refuse("--anonymize plays nothing and cannot be combined with BOOTSTRAP, --speed, --rename or --set")
    with without("hypothesis"):
        from kohort.proxy.talk.anonymous_talk import anonymize_talk
        from kohort.proxy.talk.talk_file import TalkError, read_talk

    try:
        recorded = read_talk(talk)
        anonymize_talk(recorded, path)
    except FileExistsError:
        refuse(f"{path} already exists; name another file, or delete it")
    except OSError as error:
        refuse(f"{path} can't be written: {error.strerror}")
    except TalkError as error:
        refuse(str(error))
    if recorded.cut_off:
        say(f"{recorded.name}: {recorded.cut_off}; written up to there")


def _print_lines(difference: object) -> None:
    for line in str(difference).split("\n"):
        say(line)
