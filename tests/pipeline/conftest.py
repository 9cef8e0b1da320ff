"""What the pipeline's tests share: the recording of a real cluster as silver, stores, and one Spark for all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as fs
import pytest

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.found import find_sources
from tests.pipeline.incidents.recorded import RECORDED, Recorded, Sources, Told, told_of, unpacked
from tests.pipeline.local_groups import load_groups
from tests.pipeline.stores import bucket_in, s3_server, use

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"
"""Java compiles quickly, not well: a Spark that lives for a minute spends half of it on compiling."""


@pytest.fixture(scope="session")
def recorded_silver(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources, issues = find_sources([str(recording)])
    assert not issues
    folder = tmp_path_factory.mktemp("silver")
    with Writer(folder, "0") as writer:
        ingest([source for source in sources if source.kind != "dump"], "", writer)
    publish(folder, "0", [writer.task])
    return folder


@pytest.fixture(scope="session")
def recorded_groups(recorded_silver: Path) -> dict[str, GroupInput]:
    return load_groups(recorded_silver)


@pytest.fixture(scope="session")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    """A recording of incidents by the name of its file. Each is unpacked and read once."""
    return functools.cache(lambda name: Recorded(unpacked(name, tmp_path_factory.mktemp(name))))


@pytest.fixture(scope="session")
def all_recorded(recorded_groups: dict[str, GroupInput], incidents: Callable[[str], Recorded]) -> list[GroupInput]:
    """Return the groups of all recordings, with all of their sources."""
    found = list(recorded_groups.values())
    for name in RECORDED:
        found += incidents(name).groups.values()
    return found


@pytest.fixture(scope="session")
def told_from(all_recorded: list[GroupInput]) -> Callable[[Sources], list[Told]]:
    """What is said of the groups of all recordings when this is left of each. Each is analysed once."""
    return functools.cache(lambda sources: [told_of(sources(group)) for group in all_recorded])


@pytest.fixture(scope="module")
def store_address() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def store(store_address: str, monkeypatch: pytest.MonkeyPatch) -> fs.S3FileSystem:
    """A store that speaks S3, with a bucket. It is what `s3://` means in the test."""
    use(monkeypatch, store_address)
    return bucket_in(store_address)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from kohort.pipeline.session import spark_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", JAVA_OPTIONS)
        session = spark_session("local[2]")
    yield session
    session.stop()
