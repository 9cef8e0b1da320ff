"""`kohort completion`: scripts with which shells complete commands and options."""

from __future__ import annotations

import os
from pathlib import PurePath

import click

VARIABLE = "_KOHORT_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
INSTRUCTIONS = {
    "bash": 'add to ~/.bashrc: eval "$(kohort completion bash)"',
    "zsh": 'add to ~/.zshrc: eval "$(kohort completion zsh)"',
    "fish": "kohort completion fish > ~/.config/fish/completions/kohort.fish",
}


@click.command(epilog="  ".join(f"{shell}: {how}." for shell, how in INSTRUCTIONS.items()))
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion(context: click.Context, shell: str | None) -> None:
    """Print the script with which SHELL, by default the shell in $SHELL, completes commands and options."""
    from click.shell_completion import get_completion_class

    shell = shell or PurePath(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise click.UsageError(f"name a shell: {', '.join(SHELLS)}; $SHELL is {shell or 'not set'}", context)
    click.echo(kind(context.find_root().command, {}, "kohort", VARIABLE).source())
