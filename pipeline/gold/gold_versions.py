"""Versions of the gold folder. A new version replaces the current one atomically, so that readers see whole tables.

`gold` is a link to the folder of the newest version. The previous version stays for current readers.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path


def new_version(gold: Path) -> Path:
    """Create an empty folder for the next version of `gold`."""
    version = gold.parent / f"_{gold.name}-{time.time_ns()}"
    version.mkdir(parents=True)
    return version


def show(gold: Path, version: Path) -> None:
    """Make a complete version visible to readers, and remove all others except the previous one."""
    previous = None
    if gold.is_symlink():
        previous = gold.resolve()
    elif gold.is_dir():  # written by an earlier release
        previous = gold.with_name(f"_{gold.name}-0")
        shutil.rmtree(previous, ignore_errors=True)
        gold.rename(previous)
    link = gold.with_name(f"_{gold.name}-{os.getpid()}.link")
    link.unlink(missing_ok=True)
    link.symlink_to(version.name, target_is_directory=True)
    link.replace(gold)
    for old in gold.parent.glob(f"_{gold.name}-*"):
        if old not in (version, previous) and old.resolve() not in (version.resolve(), previous):
            shutil.rmtree(old, ignore_errors=True)
