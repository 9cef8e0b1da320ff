"""Where tables lie: folders and files of this machine, or of an object store or HDFS through Arrow's file systems.

A file in a store is there when it is complete, and not before. What a store can't do is put a folder in the place of
another at once: `analysis/stored_runs.py` does without.
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
_S3 = ("s3", "s3a", "s3n")
"""Hadoop's names for the same stores."""
_SHOW_WHILE_WRITTEN = ("hdfs", "viewfs")
"""Here a file that is being written can be seen, and can be renamed at once when it is complete."""
_PATIENCE_S = 60
TRIES = 6
"""A store that throttles or is busy answers late, or the next time. AWS_MAX_ATTEMPTS says another number."""


def is_stored(text: str) -> bool:
    """Whether this is an address in a store."""
    scheme = _SCHEME.match(text)
    return scheme is not None and scheme[1] in SCHEMES


@dataclass(frozen=True, slots=True, order=True)
class StoredPlace:
    """A folder or a file in a store, with as much of a `Path` as tables need. Everything raises OSError."""

    address: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.address).name

    @property
    def parent(self) -> StoredPlace:
        """The folder it lies in."""
        return StoredPlace(self.address.rpartition("/")[0])

    @property
    def scheme(self) -> str:
        """What the address begins with."""
        return self.address.partition("://")[0]

    def __truediv__(self, name: str | PurePosixPath) -> StoredPlace:
        return StoredPlace(f"{self.address}/{name}")

    def __str__(self) -> str:
        return self.address

    def is_dir(self) -> bool:
        """Whether anything lies under this address."""
        from pyarrow.fs import FileType

        return bool(self._status().type == FileType.Directory)

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        from pyarrow.fs import FileType

        return bool(self._status().type != FileType.NotFound)

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Does nothing: folders are there as soon as something is in them."""

    def iterdir(self) -> Iterator[StoredPlace]:
        """What lies directly in this folder."""
        return (StoredPlace(f"{self.address}/{each.base_name}") for each in self._listed(recursive=False))

    def glob(self, pattern: str) -> Iterator[StoredPlace]:
        """Files below whose path matches, part by part."""
        wanted = pattern.split("/")
        _, folder = opened(self.address)
        for each in self._listed(recursive=True):
            below = PurePosixPath(each.path).relative_to(folder)
            if each.is_file and len(below.parts) == len(wanted) and below.match(pattern):
                yield self / below

    def read_bytes(self) -> bytes:
        """All of a file."""
        system, path = opened(self.address)
        with system.open_input_file(path) as file:
            return bytes(file.read())

    def write_bytes(self, content: bytes) -> None:
        """Writes a file whole: readers see what was there before, or all of this.

        HDFS doesn't rename over a file: for a moment there is none.
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
        """Removes a file."""
        system, path = opened(self.address)
        system.delete_file(path)

    def rmdir(self) -> None:
        """Does nothing: what is empty is gone."""

    def _status(self) -> Any:
        system, path = opened(self.address)
        return system.get_file_info(path)

    def _listed(self, recursive: bool) -> list[Any]:
        from pyarrow.fs import FileSelector

        system, path = opened(self.address)
        found: list[Any] = system.get_file_info(FileSelector(path, recursive=recursive, allow_not_found=True))
        return sorted(found, key=lambda each: str(each.path))


Place = Path | StoredPlace
PlaceT = TypeVar("PlaceT", Path, StoredPlace, Path | StoredPlace)


def place_of(text: str) -> Place:
    """The place of a path or an address."""
    return StoredPlace(text.rstrip("/")) if is_stored(text) else Path(text)


def for_arrow(place: Place) -> tuple[str, Any]:
    """A path and its file system, as Arrow's readers and writers of Parquet want them."""
    if isinstance(place, StoredPlace):
        system, path = opened(place.address)
        return path, system
    return str(place), None


def rename(place: Place, name: str) -> None:
    """Gives a file another name in its folder. Most stores copy it, and remove it then."""
    if isinstance(place, StoredPlace):
        system, path = opened(place.address)
        system.move(path, opened((place.parent / name).address)[1])
    else:
        place.rename(place.with_name(name))


def remove_folder(place: Place) -> None:
    """Removes a folder with all that is in it. Raises OSError where a store refuses."""
    if isinstance(place, StoredPlace):
        system, path = opened(place.address)
        system.delete_dir(path)
    else:
        import shutil

        shutil.rmtree(place, ignore_errors=True)


def opened(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it. Raises OSError."""
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
