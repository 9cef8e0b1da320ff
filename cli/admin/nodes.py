"""`kohort admin nodes`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.command()
@control_options
def nodes(control: str, token: str) -> None:
    """List the nodes: id, port, whether it runs, partitions that it leads, groups that it coordinates."""
    found = ask(control, token, "/nodes")
    say(f"{'node':>5} {'port':>6}  {'state':<8} {'partitions':>10} {'groups':>7}")
    for node in found:
        state = "running" if node["running"] else "stopped"
        say(f"{node['id']:>5} {node['port']:>6}  {state:<8} {node['partitions']:>10} {node['groups']:>7}")
