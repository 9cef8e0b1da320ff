"""Generates docs/reference/commands.md and exit-codes.md from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from kohort.cli.commands import main
from tests.docs.sources import ROOT

COMMANDS = ROOT / "docs" / "reference" / "commands.md"
EXIT_CODES = ROOT / "docs" / "reference" / "exit-codes.md"
WIDTHS: dict[str, Any] = {"terminal_width": 110, "max_content_width": 110}  # characters of a line of help

_EXIT_CODES = re.compile(r"[^.\n]*\bexit codes?\b[^\n]*(?:\n(?!\n)[^\n]+)*", re.IGNORECASE)


def commands() -> Iterator[tuple[click.Context, click.Command]]:
    """Yield each command with its context, groups before their commands."""

    def below(context: click.Context) -> Iterator[tuple[click.Context, click.Command]]:
        # click keeps the first --help option, which has no -h if a test has run the command without `kohort`
        context.command._help_option = None
        yield context, context.command
        if isinstance(context.command, click.Group):
            for name in context.command.list_commands(context):
                command = context.command.get_command(context, name)
                assert command is not None
                if not command.hidden:
                    yield from below(click.Context(command, info_name=name, parent=context, **command.context_settings))

    yield from below(click.Context(main, info_name="kohort", **{**main.context_settings, **WIDTHS}))


def command_line(mark: str) -> str:
    """Return the text of the page with the commands."""
    lines = ["# Command line", "", mark]
    for context, command in commands():
        path = context.command_path
        lines += [f"## {path}", "", "```console", f"$ {path} --help", command.get_help(context), "```", ""]
    return "\n".join(lines)


def exit_codes(mark: str) -> str:
    """Return the text of the page with the exit codes that the commands' help describes."""
    lines = ["# Exit codes", "", mark, COMMON]
    for context, command in commands():
        help_text = re.sub(r"\n\x08\n", "\n\n", command.help or "")
        sentence = _EXIT_CODES.search(help_text)
        if sentence:
            lines += [f"- `{context.command_path}`: {' '.join(sentence[0].split())}"]
    return "\n".join(lines) + "\n"


COMMON = """\
Every command ends with 0 if it is done, with 2 if its arguments are wrong or it cannot start, and with 130 after Ctrl-C. Commands with
other codes describe them in their help:
"""
