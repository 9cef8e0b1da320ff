"""`kohort serve`: runs a broker. Plain command lines reach `serving.py` without this module (see `main.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kohort.cli.serve_options import OPTIONS, Option, Place, ServeOptions
from kohort.cli.serving import serve_until_stopped


def _type_of(option: Option) -> click.ParamType[Any] | None:
    if option.choices:
        return click.Choice(option.choices)
    if option.numbers is not None:
        return click.IntRange(option.numbers[0], option.numbers[-1])
    if option.path is not None:
        may = {"file_okay": option.path is not Place.DIRECTORY, "dir_okay": option.path is not Place.FILE}
        return click.Path(path_type=Path, **may)
    return None


def _for_click(option: Option) -> click.Option:
    return click.Option(
        [option.name, option.attribute],
        type=_type_of(option),
        default=False if option.is_flag else option.default,
        show_default=bool(option.default),
        is_flag=option.is_flag or None,
        multiple=option.multiple,
        metavar=option.metavar,
        envvar=option.variable,
        show_envvar=option.variable is not None,
        help=option.help or None,
    )


@click.command(params=[_for_click(option) for option in OPTIONS])
def serve(**options: Any) -> None:
    """Run a broker, or with --nodes a cluster of them, until SIGINT or SIGTERM.

    When every node accepts connections, one line goes to stdout: READY bootstrap=HOST:PORT[,HOST:PORT...], followed by
    listeners=NAME://HOST:PORT[,HOST:PORT...],... if there are several, and control=HOST:PORT if --control is given.
    Logs go to stderr.

    Later settings override earlier ones: Kafka's defaults, the profile, --config, --kafka-environment, --set.
    __consumer_offsets has as many replicas as there are nodes, at most Kafka's 3, unless
    offsets.topic.replication.factor is set.
    """
    serve_until_stopped(ServeOptions(**options))
