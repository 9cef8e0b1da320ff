"""Recordings and tools outside of the project, in a folder next to it."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("KOHORT_SHARED", Path(__file__).parents[3] / "shared"))
