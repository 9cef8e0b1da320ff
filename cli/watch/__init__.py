"""`kohort watch`: its options, and its output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.base.address import AddressError
from kohort.base.control_url import is_url
from kohort.base.lean_imports import without
from kohort.base.visible import visible
from kohort.cli.admin.control_client import token_option
from kohort.cli.connecting import config_option, security_of
from kohort.cli.output import say

if TYPE_CHECKING:
    from kohort.cli.watch.controlled import Controlled
    from kohort.cli.watch.looking import WatchedCluster

    Watched = WatchedCluster | Controlled

PLAIN_WIDTH = 120  # columns if stdout is not a terminal
KEPT_CHANGES = 100
MIN_S, MAX_S = 0.2, 3_600.0


@click.command()
@click.argument("bootstrap", default="127.0.0.1:9092")
@click.option("--group", "pattern", default="*", metavar="PATTERN", help="Only these groups; * and ? are wildcards.")
@click.option("--once", is_flag=True, help="Print one snapshot and exit.")
@click.option(
    "--every",
    "every_s",
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(MIN_S, MAX_S),
    help="Seconds between two updates.",
)
@config_option
@token_option
def watch(bootstrap: str, pattern: str, once: bool, every_s: float, config: Path | None, token: str) -> None:
    """Watch the consumer groups of the cluster at BOOTSTRAP: members, assignments, lag, changes.

    BOOTSTRAP is HOST:PORT, several with commas, of any Kafka cluster (--command-config for TLS and logins); or the
    control address of a kohort, which shows timers and the causes of rebalances, too. It only reads: it joins no group
    and writes nothing. If stdout is not a terminal, it prints one snapshot, then a line for each change. It retries
    until an unreachable cluster is back. Ctrl-C or q ends it.
    """
    with without("hypothesis"):
        from kohort.cli.watch.controlled import Controlled
        from kohort.cli.watch.looking import WatchedCluster

    cluster: Watched
    try:
        if is_url(bootstrap):
            cluster = Controlled(bootstrap, pattern, token)
        else:
            cluster = WatchedCluster(bootstrap, pattern, security_of(config))
    except AddressError as error:
        say(f"kohort: {error}", err=True)
        sys.exit(2)
    otherwise = Controlled(bootstrap, pattern, token)
    sys.exit(asyncio.run(_until_interrupted(cluster, otherwise, bootstrap, pattern, once, every_s)))


async def _until_interrupted(
    cluster: Watched, otherwise: Controlled, bootstrap: str, pattern: str, once: bool, every_s: float
) -> int:
    from kohort.cli.watch.client import BrokerError

    watching = asyncio.ensure_future(_watch(cluster, otherwise, bootstrap, pattern, once, every_s))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, watching.cancel)
    try:
        with _ends_with_q(watching.cancel) if sys.stdout.isatty() and not once else nullcontext():
            await watching
    except asyncio.CancelledError:
        return 0  # Ctrl-C or q
    except BrokerError as error:
        say(f"kohort: {error}", err=True)
        return 1
    finally:
        cluster.close()
    return 0


async def _watch(
    cluster: Watched, otherwise: Controlled, bootstrap: str, pattern: str, once: bool, every_s: float
) -> None:
    """Print or draw the groups until cancelled.

    Args:
        otherwise: Replaces the cluster if a web server responds at its address.
    """
    from rich.console import Console
    from rich.live import Live

    from kohort.cli.watch.changes import Change, Changes
    from kohort.cli.watch.client import SpeaksHttpError
    from kohort.cli.watch.patience import Looking
    from kohort.cli.watch.view import line, picture

    title = f"kohort watch {bootstrap}"
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, markup=False)
    changes, recent_changes = Changes(), list[Change]()
    try:
        snapshot = await cluster.look(time.time())
    except SpeaksHttpError:
        cluster.close()
        cluster = otherwise
        snapshot = await cluster.look(time.time())
    changes.take(snapshot)
    looking = Looking(cluster)
    if once or not console.is_terminal:
        console.print(picture(snapshot, recent_changes, title=title, pattern=pattern))
        while not once:
            await asyncio.sleep(every_s)
            previous, snapshot = snapshot, await looking.look_again(snapshot)
            for error in set(snapshot.problems) - set(previous.problems):
                console.out(visible(f"! {error}"))
            if looking.back_after_s is not None:
                console.out(f"{bootstrap} responds again, after {looking.back_after_s:.0f} s")
            for change in changes.take(snapshot):
                console.out(line(change))
        return
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            screen = picture(
                snapshot, recent_changes, title=title, last=changes.last, height=console.size.height, pattern=pattern
            )
            live.update(screen, refresh=True)
            await asyncio.sleep(every_s)
            snapshot = await looking.look_again(snapshot)
            if looking.away_since is None:
                recent_changes = [*recent_changes, *changes.take(snapshot)][-KEPT_CHANGES:]


@contextmanager
def _ends_with_q(end: Callable[[], object]) -> Iterator[None]:
    try:
        import termios
        import tty

        terminal = sys.stdin.fileno()
        attributes = termios.tcgetattr(terminal)
    except (ImportError, OSError, ValueError, termios.error):  # not a terminal, or a closed stdin
        yield
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        keys = os.read(terminal, 64)
        if not keys:
            loop.remove_reader(terminal)
        elif b"q" in keys.lower():
            end()

    tty.setcbreak(terminal, termios.TCSANOW)
    loop.add_reader(terminal, read)
    try:
        yield
    finally:
        loop.remove_reader(terminal)
        termios.tcsetattr(terminal, termios.TCSADRAIN, attributes)
