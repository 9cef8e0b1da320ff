"""A process of Kafka Streams in a streams group: becomes that process, which prints its actions as lines of JSON.

python -m tests.pipeline.incidents.streamer '{"bootstrap": …, "group": …, "name": …, "topic": …, …}'
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from tests.clients.kafkas_own import command


def main() -> None:
    """Start the application with the options of `Group.streams`."""
    options = json.loads(sys.argv[1])
    # By its broker: each recording has one of its own, and a process that comes back finds its state.
    broker = options["bootstrap"].replace(":", "-")
    home = Path(tempfile.gettempdir()) / f"incidents-{broker}-{os.getppid()}" / options["home"]
    arguments = [options[name] for name in ("bootstrap", "group", "name", "topic")]
    started = command("CountingStream", *arguments, str(home), str(options["pause_ms"]), *options["stores"])
    os.execv(started[0], started)


if __name__ == "__main__":
    main()
