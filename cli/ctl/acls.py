"""`kohort ctl acls`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say

Command = TypeVar("Command", bound=Callable[..., Any])
WORDS = ("allow", "deny")


def resource_options(command: Command) -> Command:
    """Gives a command what an ACL is about."""
    for option in (
        click.option("--host", metavar="ADDRESS", help="From there only."),
        click.option("--cluster", is_flag=True, help="The cluster itself."),
        click.option("--transactional-id", metavar="NAME"),
        click.option("--group", metavar="NAME"),
        click.option("--topic", metavar="NAME"),
    ):
        command = option(command)
    return command


@click.group(invoke_without_command=True)
@click.pass_context
def acls(context: click.Context) -> None:
    """List, add and remove ACLs of a cluster with an authorizer, without a Kafka client."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@acls.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List all ACLs, those that clients have made too."""
    _show(ask(control, token, "/acls"))


@acls.command()
@click.argument("principal")
@click.argument("operation", default="All")
@click.option("--deny", is_flag=True, help="It is denied, not allowed.")
@click.option("--prefixed", is_flag=True, help="It is about all whose name begins with NAME.")
@resource_options
@control_options
def add(control: str, token: str, *, deny: bool, **said: Any) -> None:
    """Allow PRINCIPAL, as User:alice, an OPERATION, as Read, until everything is reset; without OPERATION all."""
    about = {name: value for name, value in said.items() if value is not None}
    _show([ask(control, token, "/acls", about | {"permission": WORDS[deny]}, post=True)])


@acls.command()
@click.option("--principal", metavar="PRINCIPAL")
@click.option("--operation", metavar="OPERATION")
@click.option("--permission", type=click.Choice(WORDS))
@click.option("--prefixed/--literal", default=None, help="Only those about names that begin with NAME, or only others.")
@resource_options
@control_options
def remove(control: str, token: str, *, cluster: bool, **said: Any) -> None:
    """Remove all ACLs that are so; without an option all of them. Prints what is gone."""
    wanted = {name: cast(object, value) for name, value in said.items() if value is not None}
    if cluster:
        wanted["cluster"] = True
    _show(ask(control, token, f"/acls?{urlencode(wanted)}" if wanted else "/acls", method="DELETE"))


def _show(found: list[dict[str, Any]]) -> None:
    for acl in found:
        say(acl["text"])
