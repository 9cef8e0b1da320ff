"""`kohort ctl violations`."""

import sys

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command()
@click.option("--clear", is_flag=True, help="Clear the list afterwards.")
@control_options
def violations(clear: bool, control: str, token: str) -> None:
    """List violations of Kafka's safety promises, one per line. Exit code 1: there are some."""
    lines = ask(control, token, "/violations", method="DELETE" if clear else "GET")
    for line in lines:
        say(line)
    sys.exit(1 if lines else 0)
