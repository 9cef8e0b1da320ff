"""A file that says where a broker listens, for whoever is to find out whether it serves: a container's health check."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kohort.broker.address import reachable, show_address
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.logs import log
from kohort.broker.runtime.listener import Listener

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def ready_file(path: Path | None, cluster: BrokerCluster, listeners: Sequence[Listener]) -> Iterator[None]:
    """Is there while it is entered, whole at every moment: one line, HOST:PORT of each node with commas between.

    The addresses are those that are listened on, as this machine reaches them; clients may be told others. They are of
    a listener without TLS if there is one. A file that cannot be written is a line in the log: the broker serves all
    the same.
    """
    if path is None:
        yield
        return
    listener = next((each for each in listeners if each.tls is None), listeners[0])
    host = reachable(listener.host)
    addresses = ",".join(show_address(host, node.ports[listener.name]) for node in cluster.nodes)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_text(f"{addresses}\n")
        beside.replace(path)
    except OSError as problem:
        log.warning(f"{path} can't be written: {problem.strerror}; kohort serves all the same")
    try:
        yield
    finally:
        with suppress(OSError):  # it may be gone already, and what it says is no longer true
            path.unlink()
