"""`kohort admin`: commands for a running cluster or its files. Only the given subcommand is imported."""

from __future__ import annotations

import click

from kohort.cli.lazy import LazyGroup

COMMANDS = {
    "add-scram": "Add a user with a SCRAM password to a data directory.",
    "move-leader": "Move the leader of a partition to another node.",
    "nodes": "List the nodes.",
    "start-node": "Start a node that was stopped.",
    "stop-node": "Stop a node while the others continue.",
    "verify": "Check the files of a data directory.",
}  # the module of the same name, with underscores, has a function of that name


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__)
def admin() -> None:
    """Move leaders, stop and start nodes of a running cluster; check a data directory, or add a user to it.

    verify and add-scram read and write files. The others need a broker that was started with `kohort serve --control
    HOST:PORT`. Exit code 0: done; 1: rejected, the broker cannot be reached, or a file is damaged; 2: the command line
    is wrong.
    """
