"""A group of commands of which only the one that is given is loaded: the others would cost a broker its start."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`table` has the help of each command by its name, so that the group's own help loads none of them.

    `package` has a module for each command, and in it a function; both have the command's name, with underscores.
    """

    def __init__(self, *arguments: Any, table: Mapping[str, str], package: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = table
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, by name."""
        return sorted(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Loads one."""
        if cmd_name not in self._table:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{self._package}.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names the nearest command when there is none of that name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            from difflib import get_close_matches  # 1 ms: not for everybody

            near = get_close_matches(args[0], self._table, n=1)
            if not near:
                raise
            raise click.UsageError(f"{problem.message} Did you mean {near[0]!r}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._table.items()))
