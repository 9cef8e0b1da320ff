"""`kohort ctl`: the laboratory of a running broker, from the command line. Only the given subcommand is imported."""

from __future__ import annotations

import click

from kohort.cli.admin.control_client import AS_JSON
from kohort.cli.lazy import LazyGroup

COMMANDS = {
    "acls": "List, add and remove ACLs of a cluster with an authorizer.",
    "appends": "Fail, delay or hold the writes of coordinators.",
    "clock": "Pause, run or advance the brokers' clock.",
    "events": "Print group events as they happen.",
    "faults": "List, add and remove rules that inject faults into requests.",
    "gates": "Hold requests, list and release them.",
    "groups": "Show groups, wait for a state, print what happened to a group.",
    "shares": "Show and release the records that members of a share group hold.",
    "reset": "Remove all rules, open all gates, run the clock.",
    "topics": "Create topics, add partitions and records.",
    "violations": "List violations of Kafka's safety promises.",
}  # the module of the same name has a function of that name


@click.group(cls=LazyGroup, table=COMMANDS, package=__name__)
@click.option("--json", "as_json", is_flag=True, help="Print the broker's response as JSON.")
@click.pass_context
def ctl(context: click.Context, as_json: bool) -> None:
    """Set the clock, faults and gates of a broker that was started with `kohort serve --control HOST:PORT`.

    `kohort ctl --json groups list` prints the response itself, for programs.

    Exit code 0: done; 1: rejected, the broker cannot be reached, or a wait timed out; 2: the command line is wrong.
    """
    context.meta[AS_JSON] = as_json
