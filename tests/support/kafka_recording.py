"""Recording of a real three-broker cluster: tests/recordings/README.md."""

from __future__ import annotations

import tarfile
from pathlib import Path

_ARCHIVE = Path(__file__).parent.parent / "recordings" / "kafka-4.3.tar.xz"


def unpacked_recording(folder: Path) -> Path:
    """Unpack the recording below a folder and return its path there."""
    with tarfile.open(_ARCHIVE) as packed:
        packed.extractall(folder, filter="data")
    return folder / "kafka-4.3"
