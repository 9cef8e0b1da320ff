"""`kohort admin`: what one does to a running cluster, or to its files. Only the subcommand that is given is loaded."""

from __future__ import annotations

import click

from kohort.cli.lazy import LazyGroup

COMMANDS = {
    "add-scram": "Give a user a SCRAM password in a data directory.",
    "move-leader": "Let another node lead a partition.",
    "nodes": "List the nodes.",
    "start-node": "Start a node that was stopped.",
    "stop-node": "Stop a node while the others run.",
    "verify": "Check the files of a data directory.",
}
"""Each is a module beside this one, with underscores, that has a function of the same name."""


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__)
def admin() -> None:
    """Move leaders, stop and start nodes of a running cluster; check a data directory, or add a user to it.

    verify and add-scram read and write files. The others need a broker that was started with `kohort serve --control
    HOST:PORT`. Exit code 0: done; 1: rejected, the broker cannot be reached, or a file is damaged; 2: the command line
    is wrong.
    """
