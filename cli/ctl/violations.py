"""`kohort ctl violations`."""

import sys

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command()
@click.option("--clear", is_flag=True, help="Begin anew.")
@control_options
def violations(clear: bool, control: str, token: str) -> None:
    """List what has happened that must never happen, a line each; then the exit code is 1."""
    found = ask(control, token, "/violations", method="DELETE" if clear else "GET")
    for line in found:
        say(line)
    sys.exit(1 if found else 0)
