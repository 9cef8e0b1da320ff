"""`kohort ctl gates`."""

from urllib.parse import quote

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def gates(context: click.Context) -> None:
    """Hold requests, list and release them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@gates.command()
@control_options
def stops(control: str, token: str) -> None:
    """List the points at which requests can be held."""
    for stop in ask(control, token, "/gates/points"):
        say(f"{stop['name']:<24}{stop['about']}")


@gates.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the gates, and the members whose requests they hold."""
    for gate in ask(control, token, "/gates"):
        _show(gate)


@gates.command()
@click.argument("name")
@click.option("--group", help="Only requests of this group.")
@control_options
def hold(name: str, group: str | None, control: str, token: str) -> None:
    """Close gate NAME."""
    _show(ask(control, token, "/gates", {"name": name, "group": group}, post=True))


@gates.command()
@click.argument("name")
@click.argument("who", required=False)
@click.option("--group", help="The gate of this group, if several gates have that name.")
@control_options
def release(name: str, who: str | None, group: str | None, control: str, token: str) -> None:
    """Release the requests of WHO (a member id, instance id or client id) at gate NAME, or all requests."""
    _show(ask(control, token, f"/gates/{quote(name)}/release{_of(group)}", {"who": who}, post=True))


@gates.command("open")
@click.argument("name")
@click.option("--group", help="The gate of this group, if several gates have that name.")
@control_options
def open_(name: str, group: str | None, control: str, token: str) -> None:
    """Open gate NAME, and release the requests that it holds."""
    ask(control, token, f"/gates/{quote(name)}{_of(group)}", method="DELETE")


def _of(group: str | None) -> str:
    return "" if group is None else f"?group={quote(group, safe='')}"


def _show(gate: dict[str, list[dict[str, str]]]) -> None:
    waiting = ", ".join(request["text"] for request in gate["held"]) or "nothing"
    of = f" of group {gate['group']}" if gate["group"] else ""
    say(f"{gate['name']}{of}: holds {waiting}")
