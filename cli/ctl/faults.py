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
    """List, add and remove rules that inject faults into requests."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@faults.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the rules, and how often each has acted."""
    for rule in ask(control, token, "/faults"):
        _show(rule)


@faults.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@control_options
def add(file: Path, control: str, token: str) -> None:
    """Add the rules of a YAML file, either all or none; `-` is stdin.

    A rule looks like `- {match: {api: Heartbeat, group: billing}, do: drop, times: 2}`.
    """
    name = "stdin" if str(file) == "-" else str(file)
    try:
        with needs_extra("reading rules", "control", exit_code=1):
            from kohort.control.faults.fault_files import read_rules, rules_in

            rules = rules_in(sys.stdin.buffer, name) if name == "stdin" else read_rules(file)
    except ValueError as error:
        fail(str(error))
    added: list[dict[str, Any]] = []

    def refused(sentence: str) -> NoReturn:
        for rule in added:
            ask(control, token, f"/faults/{rule['number']}", method="DELETE")
        fail(
            f"{'stdin' if str(file) == '-' else file}, rule {len(added) + 1}: {sentence}"
            + ("; none of its rules was added" if added else "")
        )

    for definition in rules:
        added.append(ask(control, token, "/faults", definition, post=True, refused=refused))
    for rule in added:
        _show(rule)


@faults.command()
@click.argument("group")
@click.argument("member", required=False)
@control_options
def freeze(group: str, member: str | None, control: str, token: str) -> None:
    """Freeze MEMBER of GROUP (a member id, instance id or client id), or all members, until the rule ends."""
    _show(ask(control, token, "/faults/freeze", {"group": group, "member": member}, post=True))


@faults.command()
@click.argument("number", type=int)
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of requests, counted since the rule was added.",
)
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait.")
@control_options
def wait(number: int, times: int, timeout: float, control: str, token: str) -> None:
    """Wait until rule NUMBER has acted on --times requests."""
    query = f"times={times}&timeout={timeout:g}"
    _show(ask(control, token, f"/faults/{number}/wait?{query}", timeout_s=timeout + 10))


@faults.command()
@click.argument("number", type=int, required=False)
@control_options
def remove(number: int | None, control: str, token: str) -> None:
    """Remove rule NUMBER, or all rules, and process the requests that they hold."""
    ask(control, token, "/faults" if number is None else f"/faults/{number}", method="DELETE")


def _show(rule: dict[str, object]) -> None:
    say(f"{rule['text']} (seen {rule['seen']}, acted {rule['acted']})")
