"""A disk that fails when a test wants it to, dies in the middle of something, and forgets what was not synced.

Files are real ones in a folder, so that they can be read as usual. In addition the disk keeps what would
be left if the machine lost its power: of a file what it held when it was last synced, with nothing, some or all of what
was written since, perhaps as zeros; of a folder the names it had when it was last synced, with some of what happened to
them since, in the order in which it happened, as file systems with a journal have it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EIO, ENOSPC
from pathlib import Path
from random import Random

from kohort.storage.disk.files import Disk

_LAST = 1 << 30
"""More bytes than a file here has."""


class Died(BaseException):
    """Raised when the process has died."""


class _File:
    """What of a file is on the platters.

    The system forgets what it could not write: the next sync succeeds, and does not write it either.
    """

    def __init__(self) -> None:
        self.synced = b""
        self._lost = (0, 0)
        """The bytes that a failed sync has dropped and that were not written again."""

    def sync_failed(self, contents: bytes) -> None:
        same = next((at for at, (a, b) in enumerate(zip(self.synced, contents, strict=False)) if a != b), None)
        start = min(len(self.synced), len(contents)) if same is None else same
        lost_from, lost_to = self._lost
        self._lost = (min(start, lost_from) if lost_from < lost_to else start), len(contents)

    def written(self, start: int, end: int) -> None:
        lost_from, lost_to = self._lost
        if start <= lost_from:
            self._lost = max(lost_from, end), lost_to
        elif start < lost_to:
            self._lost = lost_from, start

    def sync(self, contents: bytes) -> None:
        start, end = self._lost
        lost = self.synced[start:end].ljust(max(end - start, 0), b"\0")
        self.synced = contents if start >= end else contents[:start] + lost + contents[end:]


class _Folder:
    """The names in a folder: those that were synced, and what they were after each change since."""

    def __init__(self) -> None:
        self.names: dict[str, _File | _Folder] = {}
        self.since: list[dict[str, _File | _Folder]] = []

    def changed(self) -> None:
        self.since.append(dict(self.names))


class FaultyDisk(Disk):
    """A disk under `root` that counts its changes: writes, syncs and renames."""

    def __init__(self, root: Path, *, keeps_unsynced: bool = True) -> None:
        super().__init__(keeps_unsynced=keeps_unsynced)
        self.root = root
        self.asked = 0
        """Number of requested changes."""
        self.dies_at: int | None = None
        """The process dies in the middle of that one."""
        self.full = False
        """Nothing more can be written, nor any file or folder be made."""
        self.fails: Callable[[str, Path], OSError | None] = lambda what, path: None
        """Asked before each change: why it fails. `what`: open, write, truncate, sync, rename, keep, remove, folder."""
        self.dead = False
        self._top = _Folder()
        self._by_number: dict[int, _File] = {}
        for path in sorted(root.rglob("*")):
            self._add(path, _Folder() if path.is_dir() else _File())
            if path.is_file():
                self._file(path).synced = path.read_bytes()
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            self._folder(folder).since = [dict(self._folder(folder).names)]

    # requested operations

    def open(self, path: Path, how: int = 0) -> int:
        self._begins("open", path, needs_room=bool(how & os.O_CREAT) and not path.exists())
        descriptor = super().open(path, how)
        if how & os.O_CREAT and path.name not in self._folder(path.parent).names:
            self._add(path, _File())
        return descriptor

    def reread(self, path: Path) -> None:
        super().reread(path)
        file = self._file(path)
        if path.read_bytes() != file.synced:
            path.write_bytes(file.synced)
        file.written(0, _LAST)

    def open_folder(self, path: Path) -> int:
        self._begins("open", path)
        return super().open_folder(path)

    def write_at(self, descriptor: int, data: bytes | memoryview, at: int) -> None:
        half = bytes(data)[: len(data) // 2]
        try:
            self._begins("write", _path_of(descriptor), needs_room=True)
        except (OSError, Died):
            super().write_at(descriptor, half, at)
            raise
        super().write_at(descriptor, data, at)
        self._by_number[os.fstat(descriptor).st_ino].written(at, at + len(data))

    def sync(self, descriptor: int) -> None:
        path = _path_of(descriptor)
        try:
            self._begins("sync", path)
        except OSError:
            file = self._by_number.get(os.fstat(descriptor).st_ino)
            if file is not None:
                file.sync_failed(os.pread(descriptor, _LAST, 0))
            raise
        if path.is_dir():
            folder = self._folder(path)
            folder.since = [dict(folder.names)]
        else:  # one that was removed, too: its name may come back with the power
            self._by_number[os.fstat(descriptor).st_ino].sync(os.pread(descriptor, _LAST, 0))

    def truncate(self, descriptor: int, size: int) -> None:
        self._begins("truncate", _path_of(descriptor))
        super().truncate(descriptor, size)
        self._by_number[os.fstat(descriptor).st_ino].written(size, _LAST)

    def rename(self, path: Path, to: Path) -> None:
        self._begins("rename", to)
        super().rename(path, to)
        self._moved(path, to)

    def keep(self, path: Path, name: Path) -> None:
        self._begins("keep", name, needs_room=True)
        super().keep(path, name)
        self._add(name, self._file(path))

    def remove(self, path: Path) -> None:
        self._begins("remove", path)
        super().remove(path)
        self._gone(path)

    def remove_folder(self, path: Path) -> None:
        for file in sorted(path.iterdir()):
            self._begins("remove", file)
            file.unlink()
            self._gone(file)
        self._begins("remove", path)
        super().remove_folder(path)
        self._gone(path)

    def make_folder(self, path: Path) -> None:
        there = path.is_dir()
        if not there:
            self._begins("folder", path, needs_room=True)
        super().make_folder(path)
        if not there:
            self._add(path, _Folder())

    def _begins(self, what: str, path: Path, *, needs_room: bool = False) -> None:
        if self.dead:
            raise Died
        self.asked += 1
        if self.asked == self.dies_at:
            self.dead = True
            raise Died
        if needs_room and self.full:
            raise OSError(ENOSPC, os.strerror(ENOSPC), str(path))
        problem = self.fails(what, path)
        if problem is not None:
            raise problem

    def reborn(self) -> FaultyDisk:
        """Return the same disk, with its unsynced bytes, for the next process."""
        self.dead = True
        disk = FaultyDisk(self.root, keeps_unsynced=self.keeps_unsynced)
        disk.asked = self.asked
        disk._top, disk._by_number = self._top, self._by_number
        return disk

    # What would be left

    def lose_power(self, random: Random, into: Path) -> None:
        """Write the contents that remain after a power loss to a new folder."""
        self.dead = True
        self._leave(self._top, self._contents(self._top, self.root), random, into)

    def _contents(self, folder: _Folder, path: Path) -> dict[_File, bytes]:
        found: dict[_File, bytes] = {}
        for name, each in folder.names.items():
            if isinstance(each, _Folder):
                found |= self._contents(each, path / name)
            elif (path / name).exists():
                found[each] = (path / name).read_bytes()
        return found

    def _leave(self, folder: _Folder, contents: dict[_File, bytes], random: Random, into: Path) -> None:
        into.mkdir()
        left = random.choice((folder.since[0], folder.since[-1], random.choice(folder.since))) if folder.since else {}
        for name, each in left.items():
            if isinstance(each, _Folder):
                self._leave(each, contents, random, into / name)
            else:
                (into / name).write_bytes(_left(each.synced, contents.get(each, each.synced), random))

    def _folder(self, path: Path) -> _Folder:
        found = self._top
        for name in path.relative_to(self.root).parts:
            inner = found.names[name]
            assert isinstance(inner, _Folder)
            found = inner
        return found

    def _file(self, path: Path) -> _File:
        found = self._folder(path.parent).names[path.name]
        assert isinstance(found, _File)
        return found

    def _add(self, path: Path, what: _File | _Folder) -> None:
        folder = self._folder(path.parent)
        folder.names[path.name] = what
        folder.changed()
        if isinstance(what, _File):
            self._by_number[path.stat().st_ino] = what

    def _gone(self, path: Path) -> None:
        folder = self._folder(path.parent) if path.parent.exists() else None
        if folder is not None and folder.names.pop(path.name, None) is not None:
            folder.changed()

    def _moved(self, path: Path, to: Path) -> None:
        folder = self._folder(path.parent)
        folder.names[to.name] = folder.names.pop(path.name)
        assert path.parent == to.parent, "files are not moved between folders"
        folder.changed()


def _left(synced: bytes, written: bytes, random: Random) -> bytes:
    """Return possible contents of a file after a power loss."""
    if not written.startswith(synced):
        return random.choice((synced, written))
    more = len(written) - len(synced)
    kept = random.choice((0, more, random.randint(0, more)))
    zeros = random.choice((0, 0, more - kept))
    return written[: len(synced) + kept] + bytes(zeros)


def _path_of(descriptor: int) -> Path:
    return Path(os.readlink(f"/proc/self/fd/{descriptor}"))


def failing(what: str, times: int = 1, *, ending: str = "", errno: int = EIO) -> Callable[[str, Path], OSError | None]:
    """Fail the next `times` calls of this type to files with this suffix."""
    left = [times]

    def fails(asked: str, path: Path) -> OSError | None:
        if asked != what or not path.name.endswith(ending) or not left[0]:
            return None
        left[0] -= 1
        return OSError(errno, os.strerror(errno), str(path))

    return fails
