"""Gold is written beside the one that is there, and replaces it at once: readers see whole tables, of before or after.

`gold` is a link to the folder with the newest version. The version before stays for those who are reading it.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path


def new_version(gold: Path) -> Path:
    """An empty folder for the next version of `gold`."""
    version = gold.parent / f"_{gold.name}-{time.time_ns()}"
    version.mkdir(parents=True)
    return version


def show(gold: Path, version: Path) -> None:
    """Makes a version that is complete the one that readers see, and removes all but the one before."""
    before = None
    if gold.is_symlink():
        before = gold.resolve()
    elif gold.is_dir():  # written by an earlier release
        before = gold.with_name(f"_{gold.name}-0")
        shutil.rmtree(before, ignore_errors=True)
        gold.rename(before)
    link = gold.with_name(f"_{gold.name}-{os.getpid()}.link")
    link.unlink(missing_ok=True)
    link.symlink_to(version.name, target_is_directory=True)
    link.replace(gold)
    for old in gold.parent.glob(f"_{gold.name}-*"):
        if old not in (version, before) and old.resolve() not in (version.resolve(), before):
            shutil.rmtree(old, ignore_errors=True)
