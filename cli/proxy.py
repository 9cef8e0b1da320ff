"""`kohort proxy`: its options, and its exit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from kohort.base.address import AddressError, parse_address
from kohort.base.control_token import TokenError, checked
from kohort.base.lean_imports import without
from kohort.base.logs import LEVELS
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
    metavar="[HOST:]PORT",
    help="The bootstrap address for clients; port 0 is any free one. The cluster's nodes get other free ports.",
)
@click.option(
    "--node-port",
    "node_ports",
    multiple=True,
    metavar="NODE=PORT",
    help="Port of a node, as in 2=19094, or of several in a row, as in 0-5=19093. Repeatable.",
)
@click.option(
    "--control",
    metavar="[HOST:]PORT",
    help="Serve faults, gates and the observed groups over HTTP there, as kohort serve does.",
)
@click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    envvar="KOHORT_CONTROL_TOKEN",
    show_envvar=True,
    help="Token that requests to it must send; required if it is reachable from other machines.",
)
@click.option(
    "--event-log",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the observed events of groups to files in this directory, for kohort analyze.",
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
    "--log-level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="Lowest level of the log lines on stderr.",
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
    """Forward clients to the cluster at BOOTSTRAP, of kohort or any other Kafka, and observe or disturb them.

    BOOTSTRAP is HOST:PORT, several with commas. Every node has a port here, and responses name these ports instead of
    the cluster's own addresses, so that clients stay with the proxy. They connect in plain text. With --command-config
    the proxy uses TLS to the cluster and logs in for them. Every client then has the rights of that account, so the
    proxy listens beyond this machine with --share-account only. Without --command-config it forwards a client's own
    login. READY on stdout names the bootstrap address. Ctrl-C stops it.

    With --control or --event-log it tracks groups, as far as their requests and responses pass through it, or the
    cluster describes them on request. kohort watch and a browser show them at the control address.
    """
    from kohort.proxy.node_ports import chosen_ports

    try:
        host, port = parse_address(listen)
        chosen = chosen_ports(node_ports)
        controlled = None if control is None else control_at(control, control_token)
    except (AddressError, TokenError) as error:
        _refuse(str(error), 2)
    addresses, security = addresses_of(bootstrap), security_of(config)
    with without("hypothesis"):
        from kohort.base.line_writer import LineWriter
        from kohort.base.logs import log
        from kohort.broker.cluster.group_events import EventLogError
        from kohort.broker.runtime.server import ListenError
        from kohort.client.client_connection import BrokerError
        from kohort.proxy.proxy_run import ControlAddress, Options, run
        from kohort.proxy.talk.talk_writer import RecordError

    log.configure(level=log_level, writer=LineWriter(STDERR))
    message, code = "", 0
    try:
        address = controlled and ControlAddress(*controlled)
        run(Options(addresses, host, port, security, address, event_log, record, chosen, share_account))
    except (ListenError, EventLogError, RecordError) as error:
        message, code = str(error), 2
    except BrokerError as error:
        message, code = str(error), 1
    finally:
        log.close()
    if code:
        _refuse(message, code)


def control_at(address: str, token: str) -> tuple[str, int, str]:
    """Return host, port and token of a control address; exit with code 2 if its extra is not installed.

    Raises:
        AddressError: The address is invalid.
        TokenError: The token is invalid.
    """
    host, port = parse_address(address)
    with needs_extra("--control", "control"), without("hypothesis"):
        import kohort.proxy.proxy_control  # noqa: F401
    return host, port, checked(token)


def _refuse(message: str, code: int) -> NoReturn:
    say(f"kohort: {message}", err=True)
    sys.exit(code)
