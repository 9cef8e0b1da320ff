"""`kohort ctl`: the laboratory of a running broker, from the command line. Only the subcommand given is loaded."""

from __future__ import annotations

import click

from kohort.cli.admin.control_client import AS_JSON
from kohort.cli.lazy import LazyGroup

COMMANDS = {
    "acls": "List, add and remove ACLs of a cluster with an authorizer.",
    "appends": "Let what coordinators write fail, be slow, or be held.",
    "clock": "Pause the brokers' clock, let it run, let it jump.",
    "events": "Print group events as they happen.",
    "faults": "List, add and remove rules that spoil requests.",
    "gates": "Hold requests, see who waits, let them through.",
    "groups": "Show groups, wait for one, print what happened to it.",
    "shares": "Show who holds which records of a share group, and take them away.",
    "reset": "End all rules, open all gates, let the clock run.",
    "topics": "Create topics, give them partitions and records.",
    "violations": "List what has happened that must never happen.",
}
"""Each is a module beside this one that has a function of the same name."""


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__)
@click.option("--json", "as_json", is_flag=True, help="Print what the broker answers, as JSON.")
@click.pass_context
def ctl(context: click.Context, as_json: bool) -> None:
    """Control a broker that was started with `kohort serve --control HOST:PORT`: its clock, faults and gates.

    `kohort ctl --json groups list` prints the answer itself, for programs.

    Exit code 0: done; 1: refused, nobody answers, or what was waited for did not come; 2: the command line is wrong.
    """
    context.meta[AS_JSON] = as_json
