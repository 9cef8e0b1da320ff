"""`kohort admin acls`: a cluster's ACLs, by requests of Kafka's protocol. So the cluster may be any Kafka.

Our own client carries them: it has the codecs, and nothing needs to be installed beside kohort.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from kohort.broker.lean_imports import without
from kohort.cli.admin.control_client import fail
from kohort.cli.connecting import REACH_S, ask_each, bootstrap_option, config_option, reach_one, security_of
from kohort.cli.output import say
from kohort.protocol.errors import ErrorCode

with without("hypothesis"):
    from kohort.cli.admin.acls.named_acls import (
        MEANING,
        Resources,
        Rights,
        bindings,
        deleted,
        described,
        filters_of_resources,
        filters_of_rights,
        pointless,
        refusal,
        to_create,
        to_delete,
        to_describe,
    )
from kohort.control.control_errors import ControlError
from kohort.control.resources import operation_named
from kohort.security.acls import Operation, PatternType
from kohort.security.principal import PrincipalError, parse_principal

if TYPE_CHECKING:
    from kohort.security.acls import AclBinding, AclFilter

CLIENT_ID = "kohort-admin"

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(invoke_without_command=True)
@click.pass_context
def acls(context: click.Context) -> None:
    """List, add and remove the ACLs of any Kafka cluster, as kafka-acls does.

    Exit code 0: done; 1: refused, or no broker answers; 2: the command line is wrong.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _principals(_: click.Context, __: click.Parameter, principals: tuple[str, ...]) -> tuple[str, ...]:
    for each in principals:
        try:
            parse_principal(each)
        except PrincipalError:
            raise click.BadParameter(f"a principal is a type and a name, as User:alice, not {each!r}") from None
    return principals


def _operations(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> tuple[Operation, ...]:
    try:
        return tuple(operation_named(each) for each in words)
    except ControlError as problem:
        raise click.BadParameter(str(problem)) from None


def _names(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    if "" in names:
        raise click.BadParameter("a resource has a name")
    return names


def resource_options(*patterns: PatternType) -> Callable[[Command], Command]:
    """Gives a command `resources`, with one of these patterns, and where the cluster is."""

    def decorated(command: Command) -> Command:
        @wraps(command)
        def with_resources(
            *arguments: Any,
            topics: tuple[str, ...],
            groups: tuple[str, ...],
            transactional_ids: tuple[str, ...],
            cluster: bool,
            pattern: str,
            **options: Any,
        ) -> Any:
            named = Resources(topics, groups, transactional_ids, cluster, PatternType[pattern.upper()])
            return command(*arguments, resources=named, **options)

        def several(*names: str, text: str) -> Callable[[Command], Command]:
            return click.option(*names, multiple=True, metavar="NAME", callback=_names, help=text)

        pattern_option = click.option(
            "--resource-pattern-type",
            "pattern",
            type=click.Choice([each.name.lower() for each in patterns], case_sensitive=False),
            default="literal",
            show_default=True,
            help="How NAME is meant.",
        )
        topic = several("--topic", "topics", text="A topic; * is every one. Repeatable.")
        group = several("--group", "groups", text="A consumer group; likewise.")
        of_transactions = several("--transactional-id", "transactional_ids", text="A transactional id; likewise.")
        of_cluster = click.option("--cluster", is_flag=True, help="The cluster itself.")
        resources = topic(group(of_transactions(of_cluster(pattern_option(cast(Command, with_resources))))))
        return bootstrap_option(config_option(resources))

    return decorated


def right_options(command: Command) -> Command:
    """Gives a command `rights`."""

    @wraps(command)
    def with_rights(
        *arguments: Any,
        allowed: tuple[str, ...],
        denied: tuple[str, ...],
        operations: tuple[Operation, ...],
        allowed_hosts: tuple[str, ...],
        denied_hosts: tuple[str, ...],
        **options: Any,
    ) -> Any:
        for hosts, principals, word in ((allowed_hosts, allowed, "allow"), (denied_hosts, denied, "deny")):
            if hosts and not principals:
                raise click.UsageError(f"--{word}-host goes with --{word}-principal")
        rights = Rights(allowed, denied, operations, allowed_hosts, denied_hosts)
        return command(*arguments, rights=rights, **options)

    def principal(word: str, name: str) -> Callable[[Command], Command]:
        text = f"Whom to {word}: User:alice; User:* is everybody. Repeatable."
        return click.option(
            f"--{word}-principal", name, multiple=True, metavar="PRINCIPAL", callback=_principals, help=text
        )

    def host(word: str, name: str) -> Callable[[Command], Command]:
        text = f"The address that --{word}-principal comes from; any if left out. Repeatable."
        return click.option(f"--{word}-host", name, multiple=True, metavar="ADDRESS", help=text)

    operation = click.option(
        "--operation",
        "operations",
        multiple=True,
        metavar="OPERATION",
        callback=_operations,
        help="Read, Write, Describe, AlterConfigs and so on; All if left out. Repeatable.",
    )
    hosts = host("allow", "allowed_hosts")(host("deny", "denied_hosts")(cast(Command, with_rights)))
    return principal("allow", "allowed")(principal("deny", "denied")(operation(hosts)))


@acls.command("list")
@resource_options(PatternType.LITERAL, PatternType.PREFIXED, PatternType.ANY, PatternType.MATCH)
@click.option(
    "--principal",
    "principals",
    multiple=True,
    metavar="PRINCIPAL",
    callback=_principals,
    help="Only ACLs of this one. Repeatable.",
)
def list_(bootstrap: str, config: Path | None, resources: Resources, principals: tuple[str, ...]) -> None:
    """List ACLs, a line each: all, or those of the resources that are named.

    The pattern type match finds those that apply to NAME, of whatever pattern; any finds both patterns called NAME.
    """
    for each in _Cluster(bootstrap, config).find(filters_of_resources(resources, principals)):
        say(str(each))


@acls.command()
@resource_options(PatternType.LITERAL, PatternType.PREFIXED)
@right_options
def add(bootstrap: str, config: Path | None, resources: Resources, rights: Rights) -> None:
    """Add ACLs: each right that is named, for each resource that is named.

    A prefixed NAME is about all whose names begin so. What is there already stays as it is.
    """
    made = bindings(resources, rights)
    if not resources.patterns():
        raise click.UsageError("name a resource: --topic, --group, --transactional-id or --cluster")
    if not made:
        raise click.UsageError("say for whom: --allow-principal or --deny-principal")
    problem = pointless(made)
    if problem is not None:
        raise click.UsageError(problem)
    _Cluster(bootstrap, config).add(made)


@acls.command()
@resource_options(PatternType.LITERAL, PatternType.PREFIXED, PatternType.ANY, PatternType.MATCH)
@right_options
@click.option("--force", is_flag=True, help="Don't ask first.")
def remove(bootstrap: str, config: Path | None, resources: Resources, rights: Rights, force: bool) -> None:
    """Remove ACLs of the resources that are named: all of them, or those of the principals that are named.

    As with kafka-acls, principals without --operation mean their ACLs of the operation All, and without a host those
    for any host. `kohort admin acls list` shows what is there.
    """
    if not resources.patterns():
        raise click.UsageError("name a resource: --topic, --group, --transactional-id or --cluster")
    of_some = bool(rights.allowed or rights.denied)
    if rights.operations and not of_some:
        raise click.UsageError("--operation goes with --allow-principal or --deny-principal")
    filters = filters_of_rights(resources, rights) if of_some else filters_of_resources(resources)
    cluster = _Cluster(bootstrap, config)
    if not force:
        found = cluster.find(filters)
        for each in found:
            say(str(each), err=True)
        if found:
            click.confirm(f"Remove {_counted(len(found))}?", abort=True, err=True)
    cluster.remove(filters)


class _Cluster:
    """Asks one broker of those at `bootstrap`. A refusal ends the command with a sentence and exit code 1."""

    def __init__(self, bootstrap: str, config: Path | None) -> None:
        self._security = security_of(config)
        try:
            self._address = reach_one(bootstrap, self._security, CLIENT_ID, REACH_S)
        except OSError as problem:
            fail(str(problem))

    def find(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        """What any of the filters means, in the order of their texts."""
        found: set[AclBinding] = set()
        for answer in self._ask("describe_acls", *(to_describe(each) for each in filters)):
            _refused_if(answer.error_code, answer.error_message)
            found |= set(described(answer))
        return sorted(found, key=str)

    def add(self, made: Iterable[AclBinding]) -> None:
        """Says of each that it is there now, or why not."""
        made = [*made]
        [answer] = self._ask("create_acls", to_create(made))
        refused = False
        for acl, result in zip(made, answer.results, strict=True):
            if result.error_code == ErrorCode.none:
                say(f"added {acl}")
                continue
            if result.error_code in MEANING:  # all of them, then
                fail(refusal(result.error_code, result.error_message))
            refused = True
            say(f"kohort: {acl}: {refusal(result.error_code, result.error_message)}", err=True)
        if refused:
            sys.exit(1)

    def remove(self, filters: Iterable[AclFilter]) -> None:
        """Says of each that is removed that it is."""
        [answer] = self._ask("delete_acls", to_delete(filters))
        removed: set[AclBinding] = set()
        for result in answer.filter_results:
            _refused_if(result.error_code, result.error_message)
            for acl in result.matching_acls:
                _refused_if(acl.error_code, acl.error_message)
                removed.add(deleted(acl))
        for each in sorted(removed, key=str):
            say(f"removed {each}")
        if not removed:
            say("there are no such ACLs", err=True)

    def _ask(self, name: str, *requests: object) -> list[Any]:
        try:
            return ask_each(*self._address, self._security, CLIENT_ID, name, requests)
        except OSError as problem:
            fail(str(problem))


def _refused_if(code: ErrorCode, message: str | None) -> None:
    if code != ErrorCode.none:
        fail(refusal(code, message))


def _counted(number: int) -> str:
    return "this ACL" if number == 1 else f"these {number} ACLs"
