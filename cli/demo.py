"""`kohort demo`: runs the play, live or in plain lines."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import click

from kohort.cli.early_end import INTERRUPTED
from kohort.cli.output import say
from kohort.demo.libraries import missing_libraries

if TYPE_CHECKING:
    from rich.console import Console

    from kohort.demo.stage import Stage
    from kohort.demo.troupe import Troupe
    from kohort.demo.verdict import Check

WITHIN_S = 280


@click.command()
@click.option(
    "--plain", is_flag=True, help="Print plain lines instead of a live view, as is done if stdout is not a terminal."
)
@click.option(
    "--seed", default=1, show_default=True, help="Seed of random choices: ids, payloads, the member that crashes."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Directory for the event log and the analysis.  [default: a new temporary directory]",
)
@click.option("--no-analysis", is_flag=True, help="Do not analyse the play.")
def demo(plain: bool, seed: int, out: Path | None, no_analysis: bool) -> None:
    """Watch three client libraries share a group: join, stall, crash, recover, and lose nothing.

    Takes about a minute. Then its own logs are analysed as by kohort analyze, if kohort[analyze] is installed, which
    takes half a minute more. Exit code 0: every record was consumed, no partition ever had two owners, and the analysis
    found the member that stalled the group.
    """
    missing = missing_libraries()
    if missing:
        say(f"kohort: the demo needs {', '.join(missing)}: pip install 'kohort[demo]'", err=True)
        sys.exit(2)

    if out is not None and out.is_dir() and any(out.iterdir()):
        say(f"kohort: {out} is not empty; --out requires a new directory", err=True)
        sys.exit(2)

    import uvloop

    from kohort.broker.runtime.run import collect_garbage_seldom, raise_file_limit

    raise_file_limit()
    collect_garbage_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(_until_interrupted(plain or not sys.stdout.isatty(), seed, out, not no_analysis)))


async def _until_interrupted(plain: bool, seed: int, out: Path | None, analysed: bool) -> int:
    playing = asyncio.ensure_future(_play(plain, seed, out or Path(mkdtemp(prefix="kohort-demo-")), analysed))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, playing.cancel)
    try:
        return await playing
    except asyncio.CancelledError:
        say("kohort: the demo was interrupted; all its processes are stopped", err=True)
        return INTERRUPTED


async def _play(plain: bool, seed: int, out: Path, analysed: bool) -> int:
    from kohort.base.logs import log
    from kohort.broker.cluster.group_events import EventLogError
    from kohort.demo.acts import PARTITIONS, TOPIC, Play
    from kohort.demo.live_view import LiveView
    from kohort.demo.observations import Observations, PlayError
    from kohort.demo.plain import PlainView
    from kohort.demo.stage import BrokerLog, Stage
    from kohort.demo.summary import show
    from kohort.demo.troupe import Troupe
    from kohort.demo.verdict import judge

    started_at = time.monotonic()
    console = console_for(plain)
    stage, troupe = Stage(seed, TOPIC, PARTITIONS), Troupe()
    observations = Observations(stage)
    log.configure(level="info", json=True, stream=BrokerLog(observations.hear_broker))
    view = PlainView() if plain else LiveView(console, observations, troupe)
    observations.on_line = view.broker_says
    play = Play(stage, observations, troupe, view, seed)
    failure = ""
    events = out / "events"
    try:
        await stage.open(events)
    except EventLogError as error:
        say(f"kohort: {str(error).replace('--event-log', '--out')}", err=True)
        return 2
    try:
        try:
            with view:
                async with asyncio.timeout(WITHIN_S):
                    await play.perform()
        except PlayError as play_error:
            failure = str(play_error)
        except TimeoutError:
            failure = f"the play did not end within {WITHIN_S} s"
        await _end(stage, troupe)
        checks = judge(observations, play.outcomes, failure)
        show(console, play.outcomes, checks, time.monotonic() - started_at)
        if analysed and not failure:
            observations.on_line = lambda text: None
            checks += await _analyse(console, stage, events, out)
    finally:
        await _end(stage, troupe)
        stage.close()
    return 0 if all(check.holds for check in checks) else 1


def console_for(plain: bool) -> Console:
    """Return the console for the end, without rich's markup: `kohort[analyze]` would count as a style."""
    from rich.console import Console

    from kohort.demo.summary import WIDTH

    return Console(width=WIDTH if plain else None, highlight=False, markup=False)


async def _end(stage: Stage, troupe: Troupe) -> None:
    troupe.kill()
    await asyncio.shield(troupe.ended())
    stage.end_events()


async def _analyse(console: Console, stage: Stage, events: Path, out: Path) -> list[Check]:
    """Run `kohort analyze` on the logs of the play; the cluster still serves its offsets topic."""
    from kohort.demo import analysis
    from kohort.demo.summary import show_analysis
    from kohort.demo.verdict import Check

    if not analysis.is_installed():
        console.print(analysis.how_to_get_it(events), soft_wrap=True)
        return []
    console.print("\nkohort analyze now reads the logs of the play: its offsets topic and its event log")
    failed = await analysis.analyse(stage.bootstrap, events, out, lambda text: console.print(f"  {text}", style="dim"))
    checks, lines = ([Check(False, failed)], []) if failed else analysis.judge(out)
    show_analysis(console, checks, lines, out / "report.html")
    return checks
