"""`kohort mcp`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from kohort.base.lean_imports import without
from kohort.cli.admin.control_client import token_option
from kohort.cli.connecting import config_option, security_of
from kohort.cli.extras import needs_extra


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE…]")
@click.option(
    "--bootstrap",
    "--bootstrap-server",
    "-b",
    metavar="HOST:PORT,...",
    envvar="KOHORT_BOOTSTRAP",
    show_envvar=True,
    help="The cluster whose groups are shown as they are now: kohort, any other Kafka, or a control address of kohort.",
)
@config_option
@token_option
def mcp(sources: tuple[str, ...], bootstrap: str | None, config: Path | None, token: str) -> None:
    """Serve read-only tools to an assistant over the Model Context Protocol, on stdin and stdout.

    SOURCE: as for kohort analyze, for findings, histories of members, and what-if; the default is the cluster at
    --bootstrap. The tools list groups, explain a group, and give the answers of analyze and what-if. They write
    nothing, join no group, and read nothing but these sources and this cluster.
    """
    if bootstrap is None and not sources:
        raise click.UsageError("name a cluster with --bootstrap, or a SOURCE")
    security = security_of(config)
    with needs_extra("kohort mcp", "mcp"), without("hypothesis"):
        from kohort.cli.mcp.mcp_server import build_server
        from kohort.cli.mcp.tools import Tools

    build_server(Tools(sources, bootstrap, security, token)).run("stdio")
