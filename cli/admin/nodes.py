"""`kohort admin nodes`."""

import click

from kohort.cli.admin.asking import ask, control_options


@click.command()
@control_options
def nodes(control: str, token: str) -> None:
    """List the nodes: id, port, whether it runs, partitions that it leads, groups that it coordinates."""
    found = ask(control, token, "/nodes")
    click.echo(f"{'node':>5} {'port':>6}  {'state':<8} {'partitions':>10} {'groups':>7}")
    for node in found:
        state = "running" if node["running"] else "stopped"
        click.echo(f"{node['id']:>5} {node['port']:>6}  {state:<8} {node['partitions']:>10} {node['groups']:>7}")
