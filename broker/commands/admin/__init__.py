"""`kohort admin`: what one does to a running cluster, or to its files. Only the subcommand that is given is loaded."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "move-leader": "Let another node lead a partition.",
    "nodes": "List the nodes.",
    "start-node": "Start a node that was stopped.",
    "stop-node": "Stop a node while the others run.",
    "verify": "Check the files of a data directory.",
}
"""Each is a module beside this one, with underscores, that has a function of the same name."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{__name__}.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table, so that help for the group does not load every command."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_Commands)
def admin() -> None:
    """Move leaders, stop and start nodes of a running cluster; check the files of a data directory.

    All but verify ask a broker that was started with `kohort serve --control HOST:PORT`. Exit code 0: done; 1: refused,
    nobody answers, or a file is damaged; 2: the command line is wrong.
    """
