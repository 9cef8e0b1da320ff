"""Files in object stores and HDFS, through Arrow's file systems: they are read where they lie.

Who may read them is decided by the store's own means: variables, profiles and roles for S3, and so on. AWS_ENDPOINT_URL
names another store that speaks S3.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

_SCHEME = re.compile(r"^([a-z][a-z0-9]*)://")
_AT_ONCE = 1 << 20
_PATIENCE_S = 60
_TRIES = 6
"""A store that throttles or is busy answers late, or the next time."""
SCHEMES = ("s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_S3 = ("s3", "s3a", "s3n")
"""Hadoop's names for the same stores."""


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
        system, path = _opened(self.address)
        return Size(int(system.get_file_info(path).size or 0))

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Opens it for reading bytes. Raises OSError."""
        assert mode == "rb", "sources are only read"
        system, path = _opened(self.address)
        return io.BufferedReader(system.open_input_file(path), _AT_ONCE)

    def read_bytes(self) -> bytes:
        """All of it. Raises OSError."""
        system, path = _opened(self.address)
        with system.open_input_file(path) as file:
            return bytes(file.read())

    def __str__(self) -> str:
        return self.address


SourceFile = Path | StoredFile


def is_stored(argument: str) -> bool:
    """Whether this is an address in a store."""
    scheme = _SCHEME.match(argument)
    return scheme is not None and scheme[1] in SCHEMES


def source_file(path: str) -> SourceFile:
    """A source's file, wherever it lies."""
    return StoredFile(path) if is_stored(path) else Path(path)


def files_behind(address: str) -> Iterator[StoredFile]:
    """The file of this address, or all files below it. Raises OSError; FileNotFoundError where there is nothing."""
    from pyarrow.fs import FileSelector, FileType

    system, path = _opened(address)
    if system.get_file_info(path).type == FileType.File:
        yield StoredFile(address)
        return
    found = [each for each in system.get_file_info(FileSelector(path, recursive=True)) if each.type == FileType.File]
    if not found:
        raise FileNotFoundError(0, "nothing is stored there", address)
    folder = path.rstrip("/")
    for each in sorted(found, key=lambda each: each.path):
        yield StoredFile(address.rstrip("/") + each.path.removeprefix(folder), each.size or 0)


def _opened(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it. Raises OSError."""
    scheme, _, rest = address.partition("://")
    if scheme in _S3:
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return _s3(rest.partition("/")[0], endpoint), rest
    from pyarrow.fs import FileSystem

    try:
        system, path = FileSystem.from_uri(address)
    except ValueError as error:  # this build of Arrow knows no such store
        raise OSError(0, str(error), address) from None
    return system, path


@lru_cache(maxsize=32)
def _s3(bucket: str, endpoint: str | None) -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    patience: dict[str, Any] = {
        "connect_timeout": _PATIENCE_S,
        "request_timeout": _PATIENCE_S,
        "retry_strategy": AwsStandardS3RetryStrategy(_TRIES),
    }
    if endpoint:
        return S3FileSystem(endpoint_override=endpoint, **patience)
    return S3FileSystem(region=os.environ.get("AWS_REGION") or resolve_s3_region(bucket), **patience)
