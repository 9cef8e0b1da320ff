"""`kohort demo`: the play, watched live or told in plain lines."""

from __future__ import annotations

import asyncio
import signal
import sys
import time

import click

from kohort.demo.libraries import missing_libraries

WITHIN_S = 88
INTERRUPTED = 130


@click.command()
@click.option(
    "--plain", is_flag=True, help="Plain lines instead of a live view; always so where stdout is no terminal."
)
@click.option("--seed", default=1, show_default=True, help="Of what is left to chance: ids, payloads, who crashes.")
def demo(plain: bool, seed: int) -> None:
    """Watch three client libraries share a group: join, stall, crash, come back, and lose nothing.

    Takes about a minute. Exit code 0 only if every record was consumed and no partition ever had two owners.
    """
    missing = missing_libraries()
    if missing:
        click.echo(f"kohort: the demo needs {', '.join(missing)}: pip install 'kohort[demo]'", err=True)
        sys.exit(2)

    import uvloop

    from kohort.broker.run import collect_garbage_seldom, raise_file_limit

    raise_file_limit()
    collect_garbage_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(_until_interrupted(plain or not sys.stdout.isatty(), seed)))


async def _until_interrupted(plain: bool, seed: int) -> int:
    playing = asyncio.ensure_future(_play(plain, seed))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, playing.cancel)
    try:
        return await playing
    except asyncio.CancelledError:
        click.echo("kohort: the demo was interrupted; all its processes are stopped", err=True)
        return INTERRUPTED


async def _play(plain: bool, seed: int) -> int:
    from rich.console import Console

    from kohort.broker.logs import log
    from kohort.demo.acts import PARTITIONS, TOPIC, Play
    from kohort.demo.plain import PlainView
    from kohort.demo.stage import BrokerLog, Stage
    from kohort.demo.summary import WIDTH, show
    from kohort.demo.troupe import Troupe
    from kohort.demo.verdict import judge
    from kohort.demo.view import LiveView
    from kohort.demo.watch import PlayError, Watch

    began = time.monotonic()
    console = Console(width=WIDTH if plain else None, highlight=False)
    stage, troupe = Stage(seed, TOPIC, PARTITIONS), Troupe()
    watch = Watch(stage)
    log.configure(level="info", json=True, stream=BrokerLog(watch.hear_broker))
    view = PlainView() if plain else LiveView(console, watch, troupe)
    watch.on_line = view.broker_says
    play = Play(stage, watch, troupe, view, seed)
    problem = ""
    await stage.open()
    try:
        with view:
            async with asyncio.timeout(WITHIN_S):
                await play.perform()
    except PlayError as stopped:
        problem = str(stopped)
    except TimeoutError:
        problem = f"the play was not over within {WITHIN_S} s"
    finally:
        troupe.kill()
        await asyncio.shield(troupe.gone())
        stage.close()
    checks = judge(watch, play.outcomes, problem)
    show(console, play.outcomes, checks, time.monotonic() - began)
    return 0 if all(check.holds for check in checks) else 1
