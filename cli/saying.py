"""What commands print: lines in which names of others can't do anything."""

import click

from kohort.protocol.visible import visible


def say(line: str = "", *, err: bool = False) -> None:
    """Prints one line, to stdout or to stderr. What is not printable in it is shown as an escape."""
    click.echo(visible(line), err=err)
