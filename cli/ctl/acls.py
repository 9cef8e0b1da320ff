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
    for option in (
        click.option("--host", metavar="ADDRESS", help="Only clients at this address."),
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
    """List all ACLs, including those that clients created."""
    _show(ask(control, token, "/acls"))


@acls.command()
@click.argument("principal")
@click.argument("operation", default="All")
@click.option("--deny", is_flag=True, help="Deny the operation instead.")
@click.option("--prefixed", is_flag=True, help="Match all resources whose names begin with NAME.")
@resource_options
@control_options
def add(control: str, token: str, *, deny: bool, **options: Any) -> None:
    """Allow PRINCIPAL (such as User:alice) an OPERATION (such as Read; default All) until everything is reset."""
    fields = {name: value for name, value in options.items() if value is not None}
    _show([ask(control, token, "/acls", fields | {"permission": WORDS[deny]}, post=True)])


@acls.command()
@click.option("--principal", metavar="PRINCIPAL")
@click.option("--operation", metavar="OPERATION")
@click.option("--permission", type=click.Choice(WORDS))
@click.option("--prefixed/--literal", default=None, help="Only prefixed ACLs, or only literal ones.")
@resource_options
@control_options
def remove(control: str, token: str, *, cluster: bool, **options: Any) -> None:
    """Remove the ACLs that match all given options; without options all ACLs. Prints the removed ones."""
    filters = {name: cast(object, value) for name, value in options.items() if value is not None}
    if cluster:
        filters["cluster"] = True
    _show(ask(control, token, f"/acls?{urlencode(filters)}" if filters else "/acls", method="DELETE"))


def _show(acls: list[dict[str, Any]]) -> None:
    for acl in acls:
        say(acl["text"])
