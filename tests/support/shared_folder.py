"""Recordings and tools that are not part of the project, and may lie beside it."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("KOHORT_SHARED", Path(__file__).parents[3] / "shared"))
