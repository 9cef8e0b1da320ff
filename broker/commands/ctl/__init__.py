"""`kohort ctl`: the laboratory of a running broker, from the command line. Only the subcommand given is loaded."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "clock": "Pause the brokers' clock, let it run, let it jump.",
    "events": "Tell what happens, as it happens.",
    "faults": "List, add and remove rules that spoil requests.",
    "gates": "Hold requests, see who waits, let them through.",
    "groups": "Show groups, wait for one, tell what happened to it.",
}
"""Each is a module beside this one that has a function of the same name."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table, so that help for the group does not load every command."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_Commands)
def ctl() -> None:
    """Control a broker that was started with `kohort serve --control HOST:PORT`: its clock, faults and gates.

    Exit code 0: done; 1: refused, nobody answers, or what was waited for did not come; 2: the command line is wrong.
    """
