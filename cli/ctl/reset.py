"""`kohort ctl reset`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command()
@control_options
def reset(control: str, token: str) -> None:
    """End all rules, open all gates, and let the clock run; list what was left held, and what must never be."""
    left = ask(control, token, "/reset", post=True)
    for line in (*left["gates"], *left["violations"]):
        say(line)
