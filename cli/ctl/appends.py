"""`kohort ctl appends`."""

from typing import Any

import click

from kohort.cli.admin.control_client import Command, ask, control_options
from kohort.cli.output import say


def _filter_options(command: Command) -> Command:
    command = click.option("--times", type=click.IntRange(1), help="Act at most this often.")(command)
    command = click.option("--group", metavar="PATTERN", help="Only writes of this group; * and ? are wildcards.")(
        command
    )
    return click.option(
        "--kind",
        type=click.Choice(["group", "commit"]),
        help="Only records of groups and assignments, or only offsets.",
    )(command)


@click.group(invoke_without_command=True)
@click.pass_context
def appends(context: click.Context) -> None:
    """Fail, delay or hold the writes of coordinators."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@appends.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the rules, and how often each has acted."""
    for rule in ask(control, token, "/appends"):
        _show(rule)


@appends.command()
@_filter_options
@control_options
def hold(kind: str | None, group: str | None, times: int | None, control: str, token: str) -> None:
    """Write the records, but report the write to the coordinator only when the rule is released or removed."""
    _add(control, token, {"do": "hold", "kind": kind, "group": group, "times": times})


@appends.command()
@click.argument("seconds", type=click.FloatRange(0))
@_filter_options
@control_options
def delay(seconds: float, kind: str | None, group: str | None, times: int | None, control: str, token: str) -> None:
    """Write the records, and report the write to the coordinator SECONDS later, by the brokers' clock."""
    _add(control, token, {"do": "delay", "seconds": seconds, "kind": kind, "group": group, "times": times})


@appends.command()
@click.option("--error", default="NOT_ENOUGH_REPLICAS", show_default=True, help="The error to report.")
@_filter_options
@control_options
def fail(error: str, kind: str | None, group: str | None, times: int | None, control: str, token: str) -> None:
    """Write nothing, and report an error."""
    _add(control, token, {"do": "fail", "error": error, "kind": kind, "group": group, "times": times})


@appends.command()
@click.argument("number", type=int)
@control_options
def release(number: int, control: str, token: str) -> None:
    """Report the writes that rule NUMBER holds; it keeps holding later ones."""
    _show(ask(control, token, f"/appends/{number}/release", post=True))


@appends.command()
@click.argument("number", type=int, required=False)
@control_options
def remove(number: int | None, control: str, token: str) -> None:
    """Remove rule NUMBER, or all rules, and report the writes that they hold."""
    ask(control, token, "/appends" if number is None else f"/appends/{number}", method="DELETE")


def _add(control: str, token: str, rule: dict[str, Any]) -> None:
    _show(ask(control, token, "/appends", rule, post=True))


def _show(rule: dict[str, Any]) -> None:
    say(f"{rule['text']} (acted {rule['acted']}, holds {rule['held']})")
