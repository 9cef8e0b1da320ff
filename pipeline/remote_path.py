"""Locations of tables: local folders and files, or those of an object store or HDFS through Arrow's file systems.

A file in a store is visible only when it is complete. A store cannot replace a folder atomically;
`analysis/stored_runs.py` works without that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

_SCHEME = re.compile(r"^([a-z][a-z0-9]*)://")
SCHEMES = ("s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_S3 = ("s3", "s3a", "s3n")  # Hadoop's names of the same stores
_SHOW_WHILE_WRITTEN = ("hdfs", "viewfs")  # Stores that show incomplete files, and can rename them atomically.
_PATIENCE_S = 60
TRIES = 6  # A busy or throttling store responds late or to the next attempt. AWS_MAX_ATTEMPTS overrides the number.


def is_stored(text: str) -> bool:
    """Return whether this is an address in a store."""
    scheme = _SCHEME.match(text)
    return scheme is not None and scheme[1] in SCHEMES


@dataclass(frozen=True, slots=True, order=True)
class StoredPlace:
    """A folder or file in a store, with the part of `Path` that tables need. All methods raise OSError."""

    address: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.address).name

    @property
    def parent(self) -> StoredPlace:
        return StoredPlace(self.address.rpartition("/")[0])

    @property
    def scheme(self) -> str:
        return self.address.partition("://")[0]

    def __truediv__(self, name: str | PurePosixPath) -> StoredPlace:
        return StoredPlace(f"{self.address}/{name}")

    def __str__(self) -> str:
        return self.address

    def is_dir(self) -> bool:
        from pyarrow.fs import FileType

        return bool(self._status().type == FileType.Directory)

    def exists(self) -> bool:
        from pyarrow.fs import FileType

        return bool(self._status().type != FileType.NotFound)

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Ignore the call: a folder exists as soon as it contains a file."""

    def iterdir(self) -> Iterator[StoredPlace]:
        return (StoredPlace(f"{self.address}/{info.base_name}") for info in self._listed(recursive=False))

    def glob(self, pattern: str) -> Iterator[StoredPlace]:
        """Yield files below whose path matches, part by part."""
        parts = pattern.split("/")
        _, folder = opened(self.address)
        for info in self._listed(recursive=True):
            below = PurePosixPath(info.path).relative_to(folder)
            if info.is_file and len(below.parts) == len(parts) and below.match(pattern):
                yield self / below

    def read_bytes(self) -> bytes:
        system, path = opened(self.address)
        with system.open_input_file(path) as file:
            return bytes(file.read())

    def write_bytes(self, content: bytes) -> None:
        """Write a whole file: readers see the old content or the new one.

        HDFS cannot rename to an existing file, so the file is missing for a moment.
        """
        system, path = opened(self.address)
        hidden = path
        if self.scheme in _SHOW_WHILE_WRITTEN:
            folder, _, name = path.rpartition("/")
            hidden = f"{folder}/_{name}"
        with system.open_output_stream(hidden) as stream:
            stream.write(content)
        if hidden != path:
            if self.exists():
                self.unlink()
            system.move(hidden, path)

    def unlink(self) -> None:
        system, path = opened(self.address)
        system.delete_file(path)

    def rmdir(self) -> None:
        """Ignore the call: an empty folder does not exist."""

    def _status(self) -> Any:
        system, path = opened(self.address)
        return system.get_file_info(path)

    def _listed(self, recursive: bool) -> list[Any]:
        from pyarrow.fs import FileSelector

        system, path = opened(self.address)
        infos: list[Any] = system.get_file_info(FileSelector(path, recursive=recursive, allow_not_found=True))
        return sorted(infos, key=lambda info: str(info.path))


Place = Path | StoredPlace
PlaceT = TypeVar("PlaceT", Path, StoredPlace, Path | StoredPlace)


def place_of(text: str) -> Place:
    return StoredPlace(text.rstrip("/")) if is_stored(text) else Path(text)


def for_arrow(location: Place) -> tuple[str, Any]:
    """Return path and file system for Arrow's Parquet readers and writers."""
    if isinstance(location, StoredPlace):
        system, path = opened(location.address)
        return path, system
    return str(location), None


def rename(file: Place, name: str) -> None:
    """Rename a file in its folder. Most stores copy and delete it."""
    if isinstance(file, StoredPlace):
        system, path = opened(file.address)
        system.move(path, opened((file.parent / name).address)[1])
    else:
        file.rename(file.with_name(name))


def remove_folder(folder: Place) -> None:
    """Remove a folder with its contents.

    Raises:
        OSError: The store refuses.
    """
    if isinstance(folder, StoredPlace):
        system, path = opened(folder.address)
        system.delete_dir(path)
    else:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def opened(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it.

    Raises:
        OSError: The store cannot be reached.
    """
    scheme, _, rest = address.partition("://")
    if scheme in _S3:
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        tries = os.environ.get("AWS_MAX_ATTEMPTS", "")
        return _s3(rest.partition("/")[0], endpoint, int(tries) if tries.isdecimal() else TRIES), rest
    from pyarrow.fs import FileSystem

    try:
        system, path = FileSystem.from_uri(address)
    except ValueError as error:  # this build of Arrow knows no such store
        raise OSError(0, str(error), address) from None
    return system, path


@lru_cache(maxsize=32)
def _s3(bucket: str, endpoint: str | None, tries: int) -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    patience: dict[str, Any] = {
        "connect_timeout": _PATIENCE_S,
        "request_timeout": _PATIENCE_S,
        "allow_delayed_open": True,  # small files are one request
        "retry_strategy": AwsStandardS3RetryStrategy(tries),
    }
    if endpoint:
        return S3FileSystem(endpoint_override=endpoint, **patience)
    return S3FileSystem(region=os.environ.get("AWS_REGION") or resolve_s3_region(bucket), **patience)
