"""`kohort ctl gates`."""

from urllib.parse import quote

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def gates(context: click.Context) -> None:
    """Hold requests, see who waits, let them through."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@gates.command()
@control_options
def stops(control: str, token: str) -> None:
    """List where one may hold requests."""
    for stop in ask(control, token, "/gates/points"):
        say(f"{stop['name']:<24}{stop['about']}")


@gates.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the gates that hold, and who waits."""
    for gate in ask(control, token, "/gates"):
        _show(gate)


@gates.command()
@click.argument("name")
@click.option("--group", help="Only this group's requests.")
@control_options
def hold(name: str, group: str | None, control: str, token: str) -> None:
    """Close gate NAME."""
    _show(ask(control, token, "/gates", {"name": name, "group": group}, post=True))


@gates.command()
@click.argument("name")
@click.argument("who", required=False)
@click.option("--group", help="Of this group, where several gates have that name.")
@control_options
def release(name: str, who: str | None, group: str | None, control: str, token: str) -> None:
    """Let WHO through gate NAME (a member id, instance id or client id), or everybody who waits."""
    _show(ask(control, token, f"/gates/{quote(name)}/release{_of(group)}", {"who": who}, post=True))


@gates.command("open")
@click.argument("name")
@click.option("--group", help="Of this group, where several gates have that name.")
@control_options
def open_(name: str, group: str | None, control: str, token: str) -> None:
    """Open gate NAME."""
    ask(control, token, f"/gates/{quote(name)}{_of(group)}", method="DELETE")


def _of(group: str | None) -> str:
    return "" if group is None else f"?group={quote(group, safe='')}"


def _show(gate: dict[str, list[dict[str, str]]]) -> None:
    waiting = ", ".join(each["text"] for each in gate["held"]) or "nobody"
    of = f" of group {gate['group']}" if gate["group"] else ""
    say(f"{gate['name']}{of}: there waits {waiting}")
