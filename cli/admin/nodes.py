"""`kohort admin nodes`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command()
@control_options
def nodes(control: str, token: str) -> None:
    """List the nodes: id, port, state, number of partitions that it leads and of groups that it coordinates."""
    states = ask(control, token, "/nodes")
    say(f"{'node':>5} {'port':>6}  {'state':<8} {'partitions':>10} {'groups':>7}")
    for node in states:
        state = "running" if node["running"] else "stopped"
        say(f"{node['id']:>5} {node['port']:>6}  {state:<8} {node['partitions']:>10} {node['groups']:>7}")
