"""Files in object stores and HDFS, read in place through Arrow's file systems.

Access is configured by the store's own means: environment variables, profiles and roles for S3, for example.
AWS_ENDPOINT_URL selects another store with the S3 API.
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
    """Status of a stored file, as far as a store provides it."""

    st_size: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """File in a store, with the subset of `Path` that readers of sources use."""

    address: str
    size: int = -1

    @property
    def name(self) -> str:
        """Last part of the address."""
        return PurePosixPath(self.address).name

    @property
    def suffix(self) -> str:
        """Extension with its dot."""
        return PurePosixPath(self.address).suffix

    @property
    def parent(self) -> PurePosixPath:
        """Folder, for its name only."""
        return PurePosixPath(self.address).parent

    def stat(self) -> Size:
        if self.size >= 0:
            return Size(self.size)
        system, path = opened(self.address)
        return Size(int(system.get_file_info(path).size or 0))

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open the file for reading bytes.

        Raises:
            OSError: The store can't be read.
        """
        assert mode == "rb", "sources are only read"
        system, path = opened(self.address)
        return io.BufferedReader(system.open_input_file(path), _AT_ONCE)

    def read_bytes(self) -> bytes:
        system, path = opened(self.address)
        with system.open_input_file(path) as file:
            return bytes(file.read())

    def __str__(self) -> str:
        return self.address


SourceFile = Path | StoredFile


def source_file(path: str) -> SourceFile:
    return StoredFile(path) if is_stored(path) else Path(path)


def files_behind(address: str) -> Iterator[StoredFile]:
    """Yield the file at this address, or all files below it.

    Raises:
        FileNotFoundError: Nothing is stored there.
        OSError: The store can't be read.
    """
    from pyarrow.fs import FileSelector, FileType

    system, path = opened(address)
    if system.get_file_info(path).type == FileType.File:
        yield StoredFile(address)
        return
    files = [file for file in system.get_file_info(FileSelector(path, recursive=True)) if file.type == FileType.File]
    if not files:
        raise FileNotFoundError(0, "nothing is stored there", address)
    folder = path.rstrip("/")
    for file in sorted(files, key=lambda file: file.path):
        yield StoredFile(address.rstrip("/") + file.path.removeprefix(folder), file.size or 0)
