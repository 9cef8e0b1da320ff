"""`kohort admin move-leader TOPIC PARTITION NODE`."""

from urllib.parse import quote

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command("move-leader")
@click.argument("topic")
@click.argument("partition", type=click.IntRange(0))
@click.argument("node", type=int)
@control_options
def move_leader(topic: str, partition: int, node: int, control: str, token: str) -> None:
    """Move the leader of PARTITION of TOPIC to NODE, which becomes its preferred leader.

    A partition of __consumer_offsets takes its groups along: their coordinator moves.
    """
    path = f"/leaders/{quote(topic, safe='')}/{partition}"
    moved = ask(control, token, path, {"node": node}, post=True)
    say(f"{topic}-{partition} is led by node {moved['leader']}, leader epoch {moved['leader_epoch']}")
