"""Commands of `kohort`. Only the given one is imported."""

from __future__ import annotations

from typing import Any

import click

from kohort.cli.lazy import LazyGroup
from kohort.cli.output import say
from kohort.cli.standard_streams import standard_streams

COMMANDS = {
    "admin": "Move leaders, stop and start nodes; check a data directory or add a user to it.",
    "analyze": "Find out from a cluster's logs why groups rebalanced, and what to change.",
    "completion": "Print the script with which a shell completes commands and options.",
    "consume": "Print the records of topics of any Kafka cluster, also as a member of a group.",
    "ctl": "Control a broker's clock, faults and gates; see what happened to its groups.",
    "demo": "Watch three client libraries share a group.",
    "follow": "Follow the groups of a running cluster: alerts, metrics and reports.",
    "health": "Check whether a broker responds: exit code 0 or 1.",
    "mcp": "Serve read-only tools for an assistant: groups, explanations, findings, what-if.",
    "produce": "Write lines from stdin to a topic of any Kafka cluster.",
    "proxy": "Proxy any Kafka cluster: inject faults, hold requests, observe groups.",
    "replay": "Replay a recorded group conversation, and compare the responses.",
    "serve": "Run a broker, or a cluster of them.",
    "settings": "List the settings: names, defaults, allowed values.",
    "watch": "Watch the groups of any Kafka cluster: members, owners, lag, changes.",
    "what-if": "Predict what the history of a group would have cost under other settings.",
}  # command: help; the module of the same name has a function of that name


def build() -> str:
    """Return "compiled" if the busiest modules are compiled, else "plain Python".

    Source: "Wheels" in CONTRIBUTING.md.
    """
    from importlib.util import find_spec

    spec = find_spec("kohort.protocol.headers")  # importing it would import kio, and hypothesis if that is installed
    return "plain Python" if spec is None or str(spec.origin).endswith(".py") else "compiled"


def _version(ctx: click.Context, _: click.Parameter, is_requested: bool) -> None:
    if is_requested and not ctx.resilient_parsing:
        from importlib.metadata import version  # takes 30 ms

        say(f"kohort {version('kohort')} ({build()})")
        ctx.exit()


class Kohort(LazyGroup):
    """All commands, with working standard streams."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        with standard_streams():
            return super().main(*arguments, **options)


@click.group(
    cls=Kohort,
    table=COMMANDS,
    package="kohort.cli",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
def main() -> None:
    """Run Kafka's group coordination without a Kafka cluster."""
