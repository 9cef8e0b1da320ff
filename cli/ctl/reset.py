"""`kohort ctl reset`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command()
@control_options
def reset(control: str, token: str) -> None:
    """Remove all rules, open all gates, and run the clock; print the held requests and the safety violations."""
    state = ask(control, token, "/reset", post=True)
    for line in (*state["gates"], *state["violations"]):
        say(line)
