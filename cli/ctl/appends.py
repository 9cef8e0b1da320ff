"""`kohort ctl appends`."""

from typing import Any

import click

from kohort.cli.admin.control_client import Command, ask, control_options
from kohort.cli.output import say


def _which(command: Command) -> Command:
    """Which appends a rule is for, and how often it acts."""
    command = click.option("--times", type=click.IntRange(1), help="So often and no more.")(command)
    command = click.option("--group", metavar="PATTERN", help="Only this group's; * and ? stand for anything.")(command)
    return click.option("--kind", type=click.Choice(["group", "commit"]), help="Groups with assignments, or offsets.")(
        command
    )


@click.group(invoke_without_command=True)
@click.pass_context
def appends(context: click.Context) -> None:
    """Let what coordinators write fail, be slow, or be held."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@appends.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the rules, with how often they have acted."""
    for rule in ask(control, token, "/appends"):
        _show(rule)


@appends.command()
@_which
@control_options
def hold(kind: str | None, group: str | None, times: int | None, control: str, token: str) -> None:
    """Write it, and let the coordinator hear of it when the rule is released or removed."""
    _add(control, token, {"do": "hold", "kind": kind, "group": group, "times": times})


@appends.command()
@click.argument("seconds", type=click.FloatRange(0))
@_which
@control_options
def delay(seconds: float, kind: str | None, group: str | None, times: int | None, control: str, token: str) -> None:
    """Write it, and let the coordinator hear of it SECONDS later, by the brokers' clock."""
    _add(control, token, {"do": "delay", "seconds": seconds, "kind": kind, "group": group, "times": times})


@appends.command()
@click.option("--error", default="NOT_ENOUGH_REPLICAS", show_default=True, help="What the storage says.")
@_which
@control_options
def fail(error: str, kind: str | None, group: str | None, times: int | None, control: str, token: str) -> None:
    """Write nothing, and let the storage say an error."""
    _add(control, token, {"do": "fail", "error": error, "kind": kind, "group": group, "times": times})


@appends.command()
@click.argument("number", type=int)
@control_options
def release(number: int, control: str, token: str) -> None:
    """Report what rule NUMBER holds; it goes on holding."""
    _show(ask(control, token, f"/appends/{number}/release", post=True))


@appends.command()
@click.argument("number", type=int, required=False)
@control_options
def remove(number: int | None, control: str, token: str) -> None:
    """End rule NUMBER, or all of them: what they hold is reported."""
    ask(control, token, "/appends" if number is None else f"/appends/{number}", method="DELETE")


def _add(control: str, token: str, rule: dict[str, Any]) -> None:
    _show(ask(control, token, "/appends", rule, post=True))


def _show(rule: dict[str, Any]) -> None:
    say(f"{rule['text']} (acted {rule['acted']}, holds {rule['held']})")
