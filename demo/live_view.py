"""Live view of the play: owners of partitions, read rates, the broker's log, and the checks so far."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kohort.demo.acts import EAGER, Outcome
from kohort.demo.observations import GroupObservations, Observations
from kohort.demo.troupe import Troupe

PERIOD_S = 0.25
HISTORY_S = 30
FEWEST_LINES = 2  # of the broker's log, however low the terminal
FRAME_LINES = 9  # around partitions, acts and log
BARS = " ▁▂▃▄▅▆▇█"

COLORS = {"aiokafka": "cyan", "kafka-python": "yellow", "confluent-kafka": "magenta"}
STATE_COLORS = {
    "Stable": "green",
    "PreparingRebalance": "red",
    "CompletingRebalance": "yellow",
    "Assigning": "yellow",
    "Reconciling": "yellow",
}


class LiveView:
    """View that is drawn four times a second."""

    def __init__(self, console: Console, observations: Observations, troupe: Troupe) -> None:
        self._observations = observations
        self._troupe = troupe
        self._live = Live(console=console, auto_refresh=False, screen=True)
        self._began = time.monotonic()
        self._act = Text()
        self._outcomes: list[Outcome] = []
        self._drawing: asyncio.Task[None] | None = None

    def begins(self, number: int, title: str, about: str) -> None:
        self._act = Text.assemble((f"Act {number}: {title}", "bold"), "   ", (about, "italic"))

    def ends(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)

    def broker_says(self, text: str) -> None:
        pass

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        self._drawing = asyncio.create_task(self._draw())
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
        self._live.__exit__(None, None, None)

    async def _draw(self) -> None:
        while True:
            self._live.update(self._picture(time.monotonic()), refresh=True)
            await asyncio.sleep(PERIOD_S)

    def _picture(self, now: float) -> Group:
        groups = [
            self._group(group_id, group, now)
            for group_id, group in self._observations.groups.items()
            if group_id == EAGER or self._observations.stage.owners(group_id)
        ]
        acts = [_act_line(number, outcome) for number, outcome in enumerate(self._outcomes, 1)]
        room = self._live.console.size.height - len(self._observations.produced) - len(acts) - FRAME_LINES
        lines = list(self._observations.lines)[-max(room, FEWEST_LINES) :]
        return Group(
            Panel(self._act, title=f"kohort demo  {now - self._began:.0f} s", title_align="left"),
            Columns([*groups, self._processes()], padding=(0, 3)),
            *acts,
            "",
            *(Text(line, "dim", no_wrap=True, overflow="ellipsis") for line in lines),
        )

    def _group(self, group_id: str, group: GroupObservations, now: float) -> Group:
        owners = self._observations.stage.owners(group_id)
        of_consumers = self._observations.stage.consumer_group(group_id) is not None
        heading = Text.assemble(
            (f" {group_id} ", "bold"),
            (group.state, STATE_COLORS.get(group.state, "")),
            f"  {'epoch' if of_consumers else 'generation'} {group.generation}, {len(owners)} members",
        )
        speed = Text.assemble(f" {group.rate(now):5.0f} records/s ", (_history(group, now), "green"))
        return Group(heading, speed, self._partitions(group, owners, now))

    def _partitions(self, group: GroupObservations, owners: dict[str, list[int]], now: float) -> Table:
        table = Table("partition", "owner", "", "behind", box=SIMPLE_HEAD, show_edge=False)
        table.columns[1].min_width = len("confluent-kafka-1")
        table.columns[3].justify = "right"
        for number, produced in enumerate(self._observations.produced):
            owner = next((name for name, partitions in owners.items() if number in partitions), "")
            style = _color(owner) if group.state == "Stable" else "dim"
            reading = group.reports(number, now) > 0
            mark = Text("read", "green") if reading else Text("silent", "bold red")
            behind = max(produced - group.position(number), 0)  # the producer may report later than the consumer
            table.add_row(str(number), Text(owner, style), mark, f"{behind:,}")
        return table

    def _processes(self) -> Group:
        table = Table("process", "", box=SIMPLE_HEAD, show_edge=False)
        for actor in self._troupe.actors:
            if not actor.ended:
                doing = Text(actor.doing, "bold red" if actor.working else "")
                table.add_row(Text(actor.name, _color(actor.name)), doing)
        return Group("", "", table)


def _act_line(number: int, outcome: Outcome) -> Text:
    title = (f"{number} {outcome.title}: ", "bold red" if outcome.problem else "bold")
    line = Text.assemble(title, outcome.headline)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _color(name: str) -> str:
    return COLORS.get(name.rpartition("-")[0], "")


def _history(group: GroupObservations, now: float) -> str:
    """Return the recent records per second as bars."""
    rates = []
    for age in range(HISTORY_S, 0, -1):
        first = bisect_left(group.records_at, (now - age, 0))
        last = bisect_left(group.records_at, (now - age + 1, 0))
        rates.append(sum(count for _, count in group.records_at[first:last]))
    highest = max(*rates, 1)
    return "".join(BARS[-(-rate * (len(BARS) - 1) // highest)] for rate in rates)
