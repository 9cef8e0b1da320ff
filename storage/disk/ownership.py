"""Ownership of a data directory, and its lock."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.storage.topic_names import METADATA_TOPIC

if TYPE_CHECKING:
    from pathlib import Path

META = "meta.properties"
FORMAT = "1"  # Format version of kohort's own files in a data directory; increased for incompatible changes.
LOCK = ".lock"
PARTITION = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<index>\d+)")
# The last one belongs to Kafka's controllers and looks like a partition.
NOT_OURS_TO_SEE = frozenset({LOCK, "lost+found", f"{METADATA_TOPIC}-0"})

_KAFKAS = frozenset({"node.id", "broker.id"})  # One of these is in Kafka's own file, the second with ZooKeeper.

_held: set[Path] = set()  # Directories that this process has open: system locks only work between processes.


class DataDirectoryError(Exception):
    """A directory that cannot be used. The text includes the remedy."""


def owner_of(path: Path, ours: Iterable[str]) -> str | None:
    """Return the id of the cluster that wrote a directory, or None if it is empty or contains only partition folders.

    Args:
        ours: Additional files that an interrupted first start can leave.

    Raises:
        DataDirectoryError: The directory belongs to something else.
        OSError: The directory cannot be read.
    """
    meta = _properties(path / META)
    if meta is None:
        _refuse_other_things(path, frozenset(ours))
        return None
    written = meta.get("kohort.format")
    if written is None:
        from kohort.storage.disk.journal import JOURNAL  # not for a broker that keeps its logs in memory

        if "directory.id" in meta or (_KAFKAS & meta.keys() and not (path / JOURNAL).exists()):
            raise DataDirectoryError(
                f"{path} belongs to an Apache Kafka broker: stop it, copy the folders of the partitions you want into "
                "a new directory, and name that"
            )
        raise DataDirectoryError(
            f"{path / META} is damaged: it does not name the owner of the directory. A valid file has the lines "
            f"version=1, cluster.id=…, node.id=… and kohort.format={FORMAT}; restore it from a backup or repair it"
        )
    if written != FORMAT:
        is_newer = written.isdecimal() and int(written) > int(FORMAT)
        writer = "a newer kohort" if is_newer else "another version of kohort"
        raise DataDirectoryError(
            f"{path} was written in format {written} by {writer}, but this version supports format {FORMAT}; install "
            f"{'that release or a newer one' if is_newer else 'the version that wrote it'}"
        )
    return meta.get("cluster.id")


def meta_properties(cluster_id: str, node_id: int) -> bytes:
    """Format the file that records the owner."""
    return f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\nkohort.format={FORMAT}\n".encode()


def _refuse_other_things(path: Path, ours: frozenset[str]) -> None:
    names = sorted(entry.name for entry in path.iterdir() if entry.name not in NOT_OURS_TO_SEE | ours)
    unknown = [name for name in names if not PARTITION.fullmatch(name) or not (path / name).is_dir()]
    if unknown:
        raise DataDirectoryError(
            f"{path} contains other files ({', '.join(unknown[:3])}{', …' if len(unknown) > 3 else ''}); --data-dir "
            "needs a new or empty directory, or one written by kohort"
        )


def _properties(path: Path) -> dict[str, str] | None:
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise DataDirectoryError(f"{path} is not text; this is not a data directory of kohort") from None
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


class Lock:
    """Held by the process that writes to a directory. Kafka takes the same lock on the same file."""

    def __init__(self, path: Path) -> None:
        """Take the lock.

        Raises:
            DataDirectoryError: Another broker holds it.
            OSError: The file cannot be opened.
        """
        in_use = DataDirectoryError(f"{path} is in use by another broker; stop it, or name another directory")
        self._path = path.resolve()
        if self._path in _held:
            raise in_use  # before the file is opened: to close it would give the first one's lock back
        self._descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(self._descriptor)
            raise in_use from None
        _held.add(self._path)

    def release(self) -> None:
        """Release the lock. Can be called twice."""
        if self._descriptor >= 0:
            _held.discard(self._path)
            os.close(self._descriptor)
            self._descriptor = -1
