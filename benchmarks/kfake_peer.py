"""kfake, a Kafka in Go for tests: a server to compare with, if Go and its module are available."""

from pathlib import Path

from tests.clients.libraries import fresh_folder, run

SOURCE = Path(__file__).parent / "kfake"


def kfake() -> str:
    """Return the path of the program, which is built if necessary.

    Raises:
        Missing: Go or the module is not available.
    """
    built = fresh_folder("bench-kfake", SOURCE) / "kfake"
    if not built.exists():
        run(["go", "build", "-o", str(built), "."], SOURCE)
    return str(built)
