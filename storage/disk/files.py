"""The few things a log asks of a disk, so that tests can put one in its place that fails or forgets.

What has been written and not yet synced is kept in `Disk.unsynced`, if somebody is there to sync it: `take_unsynced`
hands it over, to be synced outside of the thread that goes on writing.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Protocol

_sync = getattr(os, "fdatasync", os.fsync)
"""Not every system has a sync for data alone."""
_EMPTY = memoryview(b"")


class Unsynced(Protocol):
    """Something that would not survive if the machine stopped now."""

    def sync(self) -> None:
        """Makes it survive. Raises OSError. May be called from any thread."""
        ...


class Disk:
    """A disk of the operating system's. Everything raises OSError."""

    def __init__(self, *, keeps_unsynced: bool = False) -> None:
        """`keeps_unsynced`: whether somebody will take what is to be synced."""
        self.keeps_unsynced = keeps_unsynced
        self.unsynced: dict[Unsynced, None] = {}

    def take_unsynced(self) -> list[Unsynced]:
        """What is to be synced before everything written so far is safe: files before the folders that name them."""
        taken = list(self.unsynced)
        self.unsynced.clear()
        return taken

    def file(self, path: Path) -> "File":
        """A file that is there."""
        return File(self, path, path.stat().st_size)

    def new_file(self, path: Path) -> "File":
        """A new, empty file; one that was there is emptied."""
        self.close(self.open(path, os.O_TRUNC | os.O_CREAT))
        self._note(Folder(self, path.parent))
        return File(self, path, 0)

    def left_behind(self, path: Path) -> None:
        """A file or folder of whoever was here before, who may not have synced it: that is made up for."""
        self._note(Folder(self, path) if path.is_dir() else _Left(self, path))

    def make_folder(self, path: Path) -> None:
        """A folder, if it is not there, with those that it lies in."""
        if not path.is_dir():
            self.make_folder(path.parent)
            path.mkdir(exist_ok=True)
            self._note(Folder(self, path.parent))

    def write_whole(self, path: Path, data: bytes, *, precious: bool = False) -> None:
        """Puts `data` in the place of a whole file: whoever reads it finds all of the old or all of the new.

        `precious`: the same when the machine stops meanwhile, though nothing else may be synced.
        """
        draft = path.with_name(path.name + ".tmp")
        self._fill(draft, data, synced=self.keeps_unsynced or precious)
        self.rename(draft, path)

    def write_derived(self, path: Path, data: bytes) -> None:
        """As `write_whole`, for what can be worked out again: it may get lost, or be there by half."""
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
        """Gives a file or folder another name, in the place of what has it."""
        path.rename(to)
        self._note(Folder(self, to.parent))

    def keep(self, path: Path, name: Path) -> None:
        """Gives the file a second name, under which it stays when something else is put in its place."""
        name.unlink(missing_ok=True)
        name.hardlink_to(path)
        self._note(Folder(self, name.parent))

    def remove(self, path: Path) -> None:
        """Removes a file that may be gone already."""
        path.unlink(missing_ok=True)
        self._note(Folder(self, path.parent))

    def remove_folder(self, path: Path) -> None:
        """Removes a folder and the files in it."""
        for each in path.iterdir():
            each.unlink()
        path.rmdir()

    def reread(self, path: Path) -> None:
        """Lets what is read of a file next come from the disk.

        What a failed sync has left out is in the system's memory only, and no later sync writes it.
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
        """The bytes of a file, read as they are looked at."""
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                yield _EMPTY
                return
            with mmap(file.fileno(), 0, access=ACCESS_READ) as mapped, memoryview(mapped) as view:
                yield view

    def _note(self, written: Unsynced) -> None:
        if self.keeps_unsynced:
            self.unsynced[written] = None

    # What the operating system is asked; a test's disk answers otherwise.

    def open(self, path: Path, how: int = 0) -> int:
        """A descriptor for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | how, 0o644)

    def open_folder(self, path: Path) -> int:
        """A descriptor by which the names in a folder can be synced."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def write_at(self, descriptor: int, data: bytes | memoryview, at: int) -> None:
        """Writes all of `data` from `at` on."""
        left = memoryview(data)
        while left:
            written = os.pwrite(descriptor, left, at)
            at += written
            left = left[written:]

    def truncate(self, descriptor: int, size: int) -> None:
        """Cuts off what lies behind `size`."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Waits until what was written to it is on the disk; its size too, but not necessarily its times."""
        _sync(descriptor)

    def close(self, descriptor: int) -> None:
        """Gives a descriptor back."""
        os.close(descriptor)


class File:
    """A file that grows at its end. Opened when first needed, closed with the last who holds it."""

    __slots__ = ("_descriptor", "_disk", "_is_replaced", "_problem", "path", "size")

    def __init__(self, disk: Disk, path: Path, size: int) -> None:
        self.path = path
        """Where it is; set anew by whoever has renamed it."""
        self.size = size
        self._disk = disk
        self._descriptor = -1
        self._problem: OSError | None = None
        self._is_replaced = False

    def __del__(self) -> None:
        self.close()

    def append(self, data: bytes | memoryview) -> None:
        """Adds `data` at the end. When that fails, nothing is added."""
        disk, descriptor = self._disk, self._open()
        try:
            disk.write_at(descriptor, data, self.size)
        except OSError:
            # What was written of it does not count. Should it stay, the next write goes over it.
            with suppress(OSError):
                disk.truncate(descriptor, self.size)
            raise
        self.size += len(data)
        if disk.keeps_unsynced:
            disk.unsynced[self] = None

    def read(self, at: int, size: int) -> bytes:
        """`size` bytes from `at`; fewer only at the end."""
        return os.pread(self._open(), size, at)

    def truncate(self, size: int) -> None:
        """Cuts off what lies behind `size`."""
        self._disk.truncate(self._open(), size)
        self.size = size
        self._disk._note(self)

    def sync(self) -> None:
        """Waits until it is on the disk; see `Unsynced`.

        The system reports a failed sync once, and forgets what it could not write. So a later one fails too.
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
        """Another file has its name, and all that it holds: nothing of this one has to survive."""
        self._is_replaced = True

    def close(self) -> None:
        """Gives the descriptor back until it is needed again."""
        if self._descriptor >= 0:
            self._disk.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> int:
        if self._descriptor < 0:
            self._descriptor = self._disk.open(self.path)
        return self._descriptor


class _Left:
    """A file that somebody else has written."""

    __slots__ = ("_disk", "_path")

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def sync(self) -> None:
        """See `Unsynced`."""
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
        """Waits until the names are on the disk; see `Unsynced`."""
        try:
            descriptor = self._disk.open_folder(self._path)
        except FileNotFoundError:
            return  # removed meanwhile, with what was in it
        try:
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)
