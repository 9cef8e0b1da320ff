"""A broker on a data directory that anybody may restart: killed, and started again on the same port and data.

    python -m tests.restarting FOLDER --set NAME=VALUE

restarts the one whose folder that is, with a setting more, and returns when it is ready.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

READY = re.compile(r"READY bootstrap=([^,\s]+)")
PATIENCE_S = 120
SERVE = (sys.executable, "-m", "kohort.cli", "serve", "--profile", "test")


_KEPT: dict[Path, socket.socket] = {}
"""Each broker's port, bound by the test: else a client that dials it meanwhile may be given it for its own end."""


def _kept_port(folder: Path) -> str:
    keeper = _KEPT[folder] = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    return f"127.0.0.1:{keeper.getsockname()[1]}"


def start(folder: Path, command: Sequence[str], listen: str = "") -> str:
    """Starts the broker that `command` tells, but for where it listens and keeps its data. Returns its address."""
    listen = listen or _kept_port(folder)
    said = folder / "said"
    with said.open("w") as out, (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [*command, "--listen", listen, "--data-dir", str(folder / "data")],
            stdout=out,
            stderr=log,
            start_new_session=True,
        )
    (folder / "pid").write_text(str(process.pid))
    (folder / "command").write_text(json.dumps([*command]))
    until = time.monotonic() + PATIENCE_S
    while not (ready := READY.match(said.read_text())):
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"the broker did not start: {(folder / 'log').read_text()}")
        time.sleep(0.02)
    (folder / "address").write_text(ready[1])
    return ready[1]


def kill(folder: Path, number: signal.Signals = signal.SIGKILL) -> None:
    """Ends the broker, and returns when it is gone: its data directory can be had then."""
    os.kill(int((folder / "pid").read_text()), number)
    with (folder / "data" / ".lock").open("r+") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)


def restart(folder: Path, settings: Sequence[str] = ()) -> None:
    """Kills the broker and starts it again, with settings that count until it is restarted once more."""
    kill(folder)
    command = json.loads((folder / "command").read_text())
    extra = [word for setting in settings for word in ("--set", setting)]
    start(folder, [*command, *extra], (folder / "address").read_text())
    (folder / "command").write_text(json.dumps(command))


def main() -> None:
    """Restarts the broker of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    options = parser.parse_args()
    restart(options.folder, options.settings)


if __name__ == "__main__":
    main()
