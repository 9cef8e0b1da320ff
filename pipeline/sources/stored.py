"""Files in object stores and HDFS, through Arrow's file systems: they are read where they lie.

Who may read them is decided by the store's own means: variables, profiles and roles for S3, and so on. AWS_ENDPOINT_URL
names another store that speaks S3.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from kohort.pipeline.remote_path import is_stored, opened

_AT_ONCE = 1 << 20


class Size(NamedTuple):
    """As much of a file's status as is known of one in a store."""

    st_size: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in a store, with as much of a `Path` as readers of sources use."""

    address: str
    size: int = -1

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        """From the last dot of the name on."""
        return PurePosixPath(self.address).suffix

    @property
    def parent(self) -> PurePosixPath:
        """The folder, for its name."""
        return PurePosixPath(self.address).parent

    def stat(self) -> Size:
        """How large it is. Raises OSError."""
        if self.size >= 0:
            return Size(self.size)
        system, path = opened(self.address)
        return Size(int(system.get_file_info(path).size or 0))

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Opens it for reading bytes. Raises OSError."""
        assert mode == "rb", "sources are only read"
        system, path = opened(self.address)
        return io.BufferedReader(system.open_input_file(path), _AT_ONCE)

    def read_bytes(self) -> bytes:
        """All of it. Raises OSError."""
        system, path = opened(self.address)
        with system.open_input_file(path) as file:
            return bytes(file.read())

    def __str__(self) -> str:
        return self.address


SourceFile = Path | StoredFile


def source_file(path: str) -> SourceFile:
    """A source's file, wherever it lies."""
    return StoredFile(path) if is_stored(path) else Path(path)


def files_behind(address: str) -> Iterator[StoredFile]:
    """The file of this address, or all files below it. Raises OSError; FileNotFoundError where there is nothing."""
    from pyarrow.fs import FileSelector, FileType

    system, path = opened(address)
    if system.get_file_info(path).type == FileType.File:
        yield StoredFile(address)
        return
    found = [each for each in system.get_file_info(FileSelector(path, recursive=True)) if each.type == FileType.File]
    if not found:
        raise FileNotFoundError(0, "nothing is stored there", address)
    folder = path.rstrip("/")
    for each in sorted(found, key=lambda each: each.path):
        yield StoredFile(address.rstrip("/") + each.path.removeprefix(folder), each.size or 0)
