"""`kohort admin start-node ID`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command("start-node")
@click.argument("node_id", metavar="ID", type=int)
@control_options
def start_node(node_id: int, control: str, token: str) -> None:
    """Start a node that was stopped, on its previous port.

    It leads partitions without a leader at once. It leads those that it is the preferred leader of after
    leader.imbalance.check.interval.seconds or an election (`kafka-leader-election`).
    """
    state = ask(control, token, f"/nodes/{node_id}/start", post=True)
    say(f"node {state['id']} is running (port {state['port']})")
