"""`kohort admin stop-node ID`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command("stop-node")
@click.argument("node_id", metavar="ID", type=int)
@control_options
def stop_node(node_id: int, control: str, token: str) -> None:
    """Stop a node while the others continue.

    Replicas take over the partitions that it leads; a partition without replicas has no leader until the node is back.
    Its connections and its port are closed.
    """
    state = ask(control, token, f"/nodes/{node_id}/stop", post=True)
    say(f"node {state['id']} is stopped (port {state['port']})")
