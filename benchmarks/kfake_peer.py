"""kfake, a Kafka in Go for tests: a peer to measure beside, where Go and its module can be had."""

from pathlib import Path

from tests.clients.libraries import fresh_folder, run

SOURCE = Path(__file__).parent / "kfake"


def kfake() -> str:
    """The program, built if need be. Raises `Missing`."""
    built = fresh_folder("bench-kfake", SOURCE) / "kfake"
    if not built.exists():
        run(["go", "build", "-o", str(built), "."], SOURCE)
    return str(built)
