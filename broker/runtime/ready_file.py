"""A file with the broker's addresses for health checks of a container."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kohort.base.address import reachable, show_address
from kohort.base.logs import log
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime.listener import Listener

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def ready_file(path: Path | None, cluster: BrokerCluster, listeners: Sequence[Listener]) -> Iterator[None]:
    """Write a file of one line, HOST:PORT of each node, separated by commas, and delete it at the end of the context.

    The addresses are those that the broker listens on, as seen from this machine; advertised ones may differ. They are
    of a listener without TLS if there is one. The file is written atomically; if that fails, a warning is logged.
    """
    if path is None:
        yield
        return
    listener = next((candidate for candidate in listeners if candidate.tls is None), listeners[0])
    host = reachable(listener.host)
    addresses = ",".join(show_address(host, node.ports[listener.name]) for node in cluster.nodes)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(f"{addresses}\n")
        temporary.replace(path)
    except OSError as error:
        log.warning(f"{path} cannot be written: {error.strerror}; the broker runs without it")
    try:
        yield
    finally:
        with suppress(OSError):  # it may have been deleted already
            path.unlink()
