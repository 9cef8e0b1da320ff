"""The disk operations of a log, so that tests can replace them by a disk that fails or loses writes.

Written but unsynced files are collected in `Disk.unsynced` if a caller syncs them: `take_unsynced` returns them, to be
synced outside of the writing thread.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Protocol

_sync = getattr(os, "fdatasync", os.fsync)  # Not every system can sync data without metadata.
_EMPTY = memoryview(b"")


class Unsynced(Protocol):
    """A file or folder with changes that would not survive a machine failure."""

    def sync(self) -> None:
        """Sync it. Can be called from any thread.

        Raises:
            OSError: The sync failed.
        """
        ...


class Disk:
    """A disk of the operating system. All methods raise OSError."""

    def __init__(self, *, keeps_unsynced: bool = False) -> None:
        """Create a disk; with `keeps_unsynced` it collects unsynced files for `take_unsynced`."""
        self.keeps_unsynced = keeps_unsynced
        self.unsynced: dict[Unsynced, None] = {}

    def take_unsynced(self) -> list[Unsynced]:
        """Return what must be synced to make all writes durable: files before the folders that contain them."""
        unsynced = list(self.unsynced)
        self.unsynced.clear()
        return unsynced

    def file(self, path: Path) -> "File":
        """Open an existing file."""
        return File(self, path, path.stat().st_size)

    def new_file(self, path: Path) -> "File":
        """Create an empty file, or empty an existing one."""
        self.close(self.open(path, os.O_TRUNC | os.O_CREAT))
        self._note(Folder(self, path.parent))
        return File(self, path, 0)

    def left_behind(self, path: Path) -> None:
        """Schedule a sync for a file or folder that an earlier process may not have synced."""
        self._note(Folder(self, path) if path.is_dir() else _Left(self, path))

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents if they do not exist."""
        if not path.is_dir():
            self.make_folder(path.parent)
            path.mkdir(exist_ok=True)
            self._note(Folder(self, path.parent))

    def write_whole(self, path: Path, data: bytes, *, precious: bool = False) -> None:
        """Replace a complete file atomically.

        Args:
            precious: Make it durable and atomic even across a machine failure, whatever the sync mode.
        """
        draft = path.with_name(path.name + ".tmp")
        self._fill(draft, data, synced=self.keeps_unsynced or precious)
        self.rename(draft, path)

    def write_derived(self, path: Path, data: bytes) -> None:
        """Replace a file that can be rebuilt: it may be lost or incomplete after a failure."""
        self._fill(path, data, synced=False)

    def _fill(self, path: Path, data: bytes, *, synced: bool) -> None:
        descriptor = self.open(path, os.O_TRUNC | os.O_CREAT)
        try:
            self.write_at(descriptor, data, 0)
            if synced:
                self.sync(descriptor)
        finally:
            self.close(descriptor)

    def rename(self, path: Path, to: Path) -> None:
        """Rename a file or folder, replacing an existing one."""
        path.rename(to)
        self._note(Folder(self, to.parent))

    def keep(self, path: Path, name: Path) -> None:
        """Add a second name for a file, so that it survives when the first name is replaced."""
        name.unlink(missing_ok=True)
        name.hardlink_to(path)
        self._note(Folder(self, name.parent))

    def remove(self, path: Path) -> None:
        """Delete a file if it exists."""
        path.unlink(missing_ok=True)
        self._note(Folder(self, path.parent))

    def remove_folder(self, path: Path) -> None:
        """Delete a folder and its files."""
        for child in path.iterdir():
            child.unlink()
        path.rmdir()

    def reread(self, path: Path) -> None:
        """Drop a file from the page cache, so that it is read from the disk.

        Pages that a failed sync has not written exist in memory only, and no later sync writes them.
        """
        descriptor = self.open(path)
        try:
            self.sync(descriptor)
            if hasattr(os, "posix_fadvise"):  # not on every system
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            self.close(descriptor)

    @contextmanager
    def mapped(self, path: Path) -> Iterator[memoryview]:
        """Map a file into memory."""
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                yield _EMPTY
                return
            with mmap(file.fileno(), 0, access=ACCESS_READ) as mapped, memoryview(mapped) as view:
                yield view

    def _note(self, written: Unsynced) -> None:
        if self.keeps_unsynced:
            self.unsynced[written] = None

    # System calls; tests override them.

    def open(self, path: Path, how: int = 0) -> int:
        """Return a file descriptor for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | how, 0o644)

    def open_folder(self, path: Path) -> int:
        """Return a file descriptor to sync the names in a folder."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def write_at(self, descriptor: int, data: bytes | memoryview, at: int) -> None:
        """Write all of `data` at position `at`."""
        remaining = memoryview(data)
        while remaining:
            written = os.pwrite(descriptor, remaining, at)
            at += written
            remaining = remaining[written:]

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Wait until the file's data and size are on disk."""
        _sync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)


class File:
    """An append-only file. Opened on first use, closed with its last user."""

    __slots__ = ("_descriptor", "_disk", "_is_replaced", "_problem", "path", "size")

    def __init__(self, disk: Disk, path: Path, size: int) -> None:
        self.path = path  # updated by the caller after a rename
        self.size = size
        self._disk = disk
        self._descriptor = -1
        self._problem: OSError | None = None
        self._is_replaced = False

    def __del__(self) -> None:
        self.close()

    def append(self, data: bytes | memoryview) -> None:
        """Append `data`. After an error nothing is appended."""
        disk, descriptor = self._disk, self._open()
        try:
            disk.write_at(descriptor, data, self.size)
        except OSError:
            # The incomplete write is not part of the file; the next write overwrites it.
            with suppress(OSError):
                disk.truncate(descriptor, self.size)
            raise
        self.size += len(data)
        if disk.keeps_unsynced:
            disk.unsynced[self] = None

    def read(self, at: int, size: int) -> bytes:
        """Read `size` bytes at position `at`; fewer only at the end."""
        return os.pread(self._open(), size, at)

    def truncate(self, size: int) -> None:
        self._disk.truncate(self._open(), size)
        self.size = size
        self._disk._note(self)

    def sync(self) -> None:
        """Wait until the file is on disk.

        The operating system reports a failed sync once and drops the dirty pages, so later syncs of this file fail,
        too.
        """
        if self._is_replaced:
            return
        if self._problem is not None:
            raise self._problem
        try:
            self._disk.sync(self._open())
        except FileNotFoundError:
            return  # removed meanwhile
        except OSError as problem:
            self._problem = problem
            raise

    def replaced(self) -> None:
        """Mark the file as replaced by another one with the same content: it needs no sync any more."""
        self._is_replaced = True

    def close(self) -> None:
        """Close the file descriptor until it is needed again."""
        if self._descriptor >= 0:
            self._disk.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> int:
        if self._descriptor < 0:
            self._descriptor = self._disk.open(self.path)
        return self._descriptor


class _Left:
    """A file that an earlier process has written."""

    __slots__ = ("_disk", "_path")

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def sync(self) -> None:
        try:
            descriptor = self._disk.open(self._path)
        except FileNotFoundError:
            return  # removed meanwhile
        try:
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)


class Folder:
    """The names in a folder: a new file is lost with its name."""

    __slots__ = ("_disk", "_path")

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folder) and other._path == self._path

    def __hash__(self) -> int:
        return hash(self._path)

    def sync(self) -> None:
        try:
            descriptor = self._disk.open_folder(self._path)
        except FileNotFoundError:
            return  # deleted meanwhile
        try:
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)
