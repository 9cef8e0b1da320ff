"""`kohort proxy`: what it is asked, and how it ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from kohort.broker.address import AddressError, parse_address
from kohort.broker.control_token import TokenError, checked
from kohort.broker.lean_imports import without
from kohort.broker.logs import LEVELS
from kohort.cli.connecting import addresses_of, config_option, security_of
from kohort.cli.extras import needs_extra
from kohort.cli.output import say

STDERR = 2


@click.command()
@click.argument("bootstrap")
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    metavar="HOST:PORT",
    help="Where clients begin; port 0 is any free one. The cluster's nodes get free ports beside it.",
)
@click.option(
    "--node-port",
    "node_ports",
    multiple=True,
    metavar="NODE=PORT",
    help="Where a node's port is, as in 2=19094, or those of several in a row: 0-5=19093. May be repeated.",
)
@click.option(
    "--control",
    metavar="[HOST:]PORT",
    help="Offer faults, gates and what is seen of groups over HTTP there, as kohort serve does.",
)
@click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    envvar="KOHORT_CONTROL_TOKEN",
    show_envvar=True,
    help="What must be shown there; needed where others than this machine reach it.",
)
@click.option(
    "--event-log",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write what is seen of groups to files in this directory, which kohort analyze reads.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the group conversation there, for kohort replay; FILE must be new.",
)
@config_option
@click.option(
    "--share-account",
    is_flag=True,
    help="Consent to what --listen beyond this machine means with a login or a client certificate in "
    "--command-config: every client that reaches the proxy has the rights of that account.",
)
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What is told on stderr."
)
def proxy(
    bootstrap: str,
    listen: str,
    node_ports: tuple[str, ...],
    control: str | None,
    control_token: str,
    event_log: Path | None,
    record: Path | None,
    config: Path | None,
    share_account: bool,
    log_level: str,
) -> None:
    """Stand between clients and the cluster at BOOTSTRAP, of kohort or any other Kafka.

    BOOTSTRAP is HOST:PORT, several with commas. Every node has a port here, and answers name these instead of
    the cluster's own addresses: clients stay with the proxy. They speak plainly to it. With --command-config
    it speaks TLS to the cluster and logs in for them. Every client then has the rights of that account, so that the
    proxy listens beyond this machine with --share-account only. Without, a client's own login is passed on. READY
    on stdout says where to begin. Ctrl-C ends it.

    With --control or --event-log it sees groups, as far as their requests and the answers pass here, or the
    cluster describes them when it is asked. kohort watch and a browser show them at the control address.
    """
    from kohort.proxy.node_ports import chosen_ports

    try:
        host, port = parse_address(listen)
        chosen = chosen_ports(node_ports)
        controlled = None if control is None else control_at(control, control_token)
    except (AddressError, TokenError) as problem:
        _refuse(str(problem), 2)
    where, security = addresses_of(bootstrap), security_of(config)
    with without("hypothesis"):
        from kohort.broker.cluster.group_events import EventLogError
        from kohort.broker.line_writer import LineWriter
        from kohort.broker.logs import log
        from kohort.broker.runtime.server import ListenError
        from kohort.client.client_connection import BrokerError
        from kohort.proxy.proxy_run import ControlAddress, Options, run
        from kohort.proxy.talk.talk_writer import RecordError

    log.configure(level=log_level, writer=LineWriter(STDERR))
    sentence, code = "", 0
    try:
        address = controlled and ControlAddress(*controlled)
        run(Options(where, host, port, security, address, event_log, record, chosen, share_account))
    except (ListenError, EventLogError, RecordError) as problem:
        sentence, code = str(problem), 2
    except BrokerError as problem:
        sentence, code = str(problem), 1
    finally:
        log.close()
    if code:
        _refuse(sentence, code)


def control_at(where: str, token: str) -> tuple[str, int, str]:
    """Host, port and token of a control address. Raises AddressError, TokenError; may end the command."""
    host, port = parse_address(f"127.0.0.1:{where.removeprefix(':')}" if where.lstrip(":").isdigit() else where)
    with needs_extra("--control", "control"), without("hypothesis"):
        import kohort.proxy.proxy_control  # noqa: F401
    return host, port, checked(token)


def _refuse(sentence: str, code: int) -> NoReturn:
    say(f"kohort: {sentence}", err=True)
    sys.exit(code)
