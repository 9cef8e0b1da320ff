"""The commands of `kohort`, of which only the one that is given is loaded."""

from __future__ import annotations

from typing import Any

import click

from kohort.cli.lazy import LazyGroup
from kohort.cli.output import say
from kohort.cli.standard_streams import standard_streams

COMMANDS = {
    "admin": "Move leaders, stop and start nodes; check a data directory or add a user to it.",
    "analyze": "Find out from a cluster's logs why groups rebalanced, and what to change.",
    "completion": "Print what lets a shell complete commands and options.",
    "consume": "Print the records of topics of any Kafka cluster, also as a member of a group.",
    "ctl": "Control a broker's clock, faults and gates; see what happened to its groups.",
    "demo": "Watch three client libraries share a group.",
    "health": "Ask a broker whether it serves: exit code 0 or 1.",
    "produce": "Write lines from stdin to a topic of any Kafka cluster.",
    "proxy": "Stand between clients and any Kafka cluster.",
    "replay": "Play a recorded group conversation again, and see what differs.",
    "serve": "Run a broker, or a cluster of them.",
    "settings": "List the settings: names, defaults, what they allow.",
    "watch": "Watch the groups of any Kafka cluster: members, owners, lag, changes.",
}
"""Each is a module beside this one that has a function of the same name."""


def build() -> str:
    """Whether the busiest modules are compiled, or all is plain Python (CONTRIBUTING.md, "Wheels")."""
    from importlib.util import find_spec

    found = find_spec("kohort.protocol.headers")  # loading it would load kio, and hypothesis where that is installed
    return "plain Python" if found is None or str(found.origin).endswith(".py") else "compiled"


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # 30 ms: not for everybody

        say(f"kohort {version('kohort')} ({build()})")
        ctx.exit()


class Kohort(LazyGroup):
    """All commands, with a stdin, stdout and stderr wherever they are started from."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Runs the command line; before anything else is opened."""
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
    """Kafka's group coordination without a Kafka cluster."""
