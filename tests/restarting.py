"""A broker with a data directory that can be killed and started again with the same port and data.

    python -m tests.restarting FOLDER --set NAME=VALUE

This restarts the broker of a folder with another setting, and returns when it is ready.
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
START_TIMEOUT_S = 120
SERVE = (sys.executable, "-m", "kohort.cli", "serve", "--profile", "test")

# The port of each broker, bound by the test. Otherwise a client that connects during a restart may get the same number
# as its local port.
_RESERVED: dict[Path, socket.socket] = {}


def _reserve_port(folder: Path) -> str:
    reserved = _RESERVED[folder] = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return f"127.0.0.1:{reserved.getsockname()[1]}"


def start(folder: Path, command: Sequence[str], listen: str = "") -> str:
    """Start a broker and return its address. `--listen` and `--data-dir` are added to the command."""
    listen = listen or _reserve_port(folder)
    output = folder / "output"
    with output.open("w") as out, (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [*command, "--listen", listen, "--data-dir", str(folder / "data")],
            stdout=out,
            stderr=log,
            start_new_session=True,
        )
    (folder / "pid").write_text(str(process.pid))
    (folder / "command").write_text(json.dumps([*command]))
    until = time.monotonic() + START_TIMEOUT_S
    while not (ready := READY.match(output.read_text())):
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"the broker did not start: {(folder / 'log').read_text()}")
        time.sleep(0.02)
    (folder / "address").write_text(ready[1])
    return ready[1]


def kill(folder: Path, number: signal.Signals = signal.SIGKILL) -> None:
    """Stop the broker, and return when its data directory is unlocked."""
    os.kill(int((folder / "pid").read_text()), number)
    with (folder / "data" / ".lock").open("r+") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)


def restart(folder: Path, settings: Sequence[str] = ()) -> None:
    """Kill the broker and start it again, with settings that apply until the next restart."""
    kill(folder)
    command = json.loads((folder / "command").read_text())
    extra = [word for setting in settings for word in ("--set", setting)]
    start(folder, [*command, *extra], (folder / "address").read_text())
    (folder / "command").write_text(json.dumps(command))


def main() -> None:
    """Restart the broker of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    options = parser.parse_args()
    restart(options.folder, options.settings)


if __name__ == "__main__":
    main()
