"""Toxiproxy, a proxy in Go that forwards bytes: a program to compare with, if Go and its module are available."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.server import free_port
from tests.clients.libraries import fresh_folder, run

SOURCE = Path(__file__).parent / "toxiproxy"
SERVER = "github.com/Shopify/toxiproxy/v2/cmd/server"
STARTS_WITHIN_S = 30.0


def toxiproxy() -> str:
    """Return the path of the program, which is built if necessary.

    Raises:
        Missing: Go or the module is not available.
    """
    built = fresh_folder("bench-toxiproxy", SOURCE) / "toxiproxy"
    if not built.exists():
        run(["go", "build", "-o", str(built), SERVER], SOURCE)
    return str(built)


@contextmanager
def start_proxy_for(port: int) -> Iterator[tuple[int, int]]:
    """Start one without toxics for a port of this machine; yield its process id and its port."""
    program = toxiproxy()
    api, listen = free_port(), free_port()
    with TemporaryDirectory() as folder:
        config = Path(folder) / "proxies.json"
        upstream = f"127.0.0.1:{port}"
        config.write_text(
            json.dumps([{"name": "kafka", "listen": f"127.0.0.1:{listen}", "upstream": upstream, "enabled": True}])
        )
        command = [program, "-port", str(api), "-config", str(config)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _until_it_listens(listen)
                yield process.pid, listen
            finally:
                process.terminate()


def _until_it_listens(port: int) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return
