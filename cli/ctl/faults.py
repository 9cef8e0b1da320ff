"""`kohort ctl faults`."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from kohort.cli.admin.control_client import ask, control_options, fail
from kohort.cli.extras import needs_extra
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def faults(context: click.Context) -> None:
    """List, add and remove rules that spoil requests."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@faults.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the rules, with how often they have acted."""
    for rule in ask(control, token, "/faults"):
        _show(rule)


@faults.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@control_options
def add(file: Path, control: str, token: str) -> None:
    """Make the rules of a YAML file, all of them or none; `-` is stdin.

    Each is as in `- {match: {api: Heartbeat, group: billing}, do: drop, times: 2}`."""
    name = "stdin" if str(file) == "-" else str(file)
    try:
        with needs_extra("reading rules", "control", exit_code=1):
            from kohort.control.faults.fault_files import read_rules, rules_in

            rules = rules_in(sys.stdin.buffer, name) if name == "stdin" else read_rules(file)
    except ValueError as problem:
        fail(str(problem))
    made: list[dict[str, Any]] = []

    def refused(sentence: str) -> NoReturn:
        for rule in made:
            ask(control, token, f"/faults/{rule['number']}", method="DELETE")
        fail(
            f"{'stdin' if str(file) == '-' else file}, rule {len(made) + 1}: {sentence}"
            + ("; none of its rules is at work" if made else "")
        )

    for each in rules:
        made.append(ask(control, token, "/faults", each, post=True, refused=refused))
    for rule in made:
        _show(rule)


@faults.command()
@click.argument("group")
@click.argument("member", required=False)
@control_options
def freeze(group: str, member: str | None, control: str, token: str) -> None:
    """Let MEMBER of GROUP fall silent (a member id, instance id or client id), or all of them, until the rule ends."""
    _show(ask(control, token, "/faults/freeze", {"group": group, "member": member}, post=True))


@faults.command()
@click.argument("number", type=int)
@click.option("--times", type=click.IntRange(1), default=1, show_default=True, help="So often, since it was made.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="In seconds.")
@control_options
def wait(number: int, times: int, timeout: float, control: str, token: str) -> None:
    """Wait until rule NUMBER has acted on so many requests."""
    query = f"times={times}&timeout={timeout:g}"
    _show(ask(control, token, f"/faults/{number}/wait?{query}", timeout_s=timeout + 10))


@faults.command()
@click.argument("number", type=int, required=False)
@control_options
def remove(number: int | None, control: str, token: str) -> None:
    """End rule NUMBER, or all of them: what they hold goes on."""
    ask(control, token, "/faults" if number is None else f"/faults/{number}", method="DELETE")


def _show(rule: dict[str, object]) -> None:
    say(f"{rule['text']} (seen {rule['seen']}, acted {rule['acted']})")
