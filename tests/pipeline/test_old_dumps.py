"""Older dump tools print less of a record than today's. What they print is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.pipeline.history.classic_timeline import classic_timeline
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.export import read_dump
from kohort.pipeline.sources.found import DUMP, find_sources
from kohort.protocol.records.layouts import GROUP_METADATA
from tests.pipeline.local_groups import load_groups

BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: 0 lastSequence: 0 producerId: -1 producerEpoch: -1 "
    "partitionLeaderEpoch: 3 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0"
)
RECORD = "| offset: {} CreateTime: {} keySize: 1 valueSize: 1 sequence: 0 headerKeys: [] key: {} payload: {}"
ID = "0a1b2c3d-1111-4222-8333-44445555666"


def dump(folder: Path, *records: tuple[int, str, str]) -> Path:
    """Return records with their times, as printed by the tool of 3.6."""
    lines = ["Dumping /data/__consumer_offsets-12/00000000000000000000.log", "Starting offset: 0"]
    for offset, (time_ms, key, payload) in enumerate(records):
        lines += [BATCH.format(offset), RECORD.format(offset, time_ms, key, payload)]
    path = folder / "dump.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def group_of(path: Path, folder: Path) -> GroupInput:
    sources, issues = find_sources([str(path)])
    assert ([source.kind for source in sources], issues) == ([DUMP], [])
    with Writer(folder / "silver", "0") as writer:
        ingest(sources, "", writer)
    publish(folder / "silver", "0", [writer.task])
    (group,) = load_groups(folder / "silver").values()
    return group


def generation(number: int, assignment: str) -> str:
    return f'{{"protocolType":"consumer","protocol":"range","generationId":{number},"assignment":"{assignment}"}}'


def test_generations_owners_and_commits(tmp_path: Path) -> None:
    key = "group_metadata::group=orders,partition=a-1"  # a group may be called so
    path = dump(
        tmp_path,
        (1000, key, generation(4, f"{{c-1-{ID}1=[t-0, t-1],c=2-{ID}2=[u-x-0]:00ff,c-3-{ID}3=[]}}")),
        (2000, "offset_commit::group=orders,partition=a-1,partition=u-x-0", "offset=53,metadata=by hand, offset=7"),
        (3000, "offset_commit::group=orders,partition=a-1,partition=t-1", "offset=9"),
        (4000, "offset_commit::group=orders,partition=a-1,partition=t-1", "<DELETE>"),
        (5000, key, "<DELETE>"),
    )
    group = group_of(path, tmp_path)
    assert group.group_id == "orders,partition=a-1"
    timeline = classic_timeline(group)
    (only,) = timeline.generations
    assert (only.number, only.stable_ms, only.end_ms, only.protocol) == (4, 1000, 5000, "range")
    assert only.owners == {
        ("t", 0): f"c-1-{ID}1",
        ("t", 1): f"c-1-{ID}1",
        ("u-x", 0): f"c=2-{ID}2",
    }
    assert sorted(member.name for member in only.members.values()) == ["c-1", "c-3", "c=2"]
    assert {member.topics for member in only.members.values()} == {None}, "not printed, so not known"
    assert group.commits["u-x", 0].committed.tolist() == [53]
    assert group.commits["u-x", 0].ts_ms.tolist() == [2000]
    assert group.commits["t", 1].gone_ms.tolist() == [4000]


def test_empty_group(tmp_path: Path) -> None:
    path = dump(tmp_path, (1000, "group_metadata::group=g", generation(7, "{}").replace('"range"', "null")))
    (record,) = group_of(path, tmp_path).records
    assert (record.record_type, record.generation, record.n_members) == (GROUP_METADATA, 7, 0)


def test_workers_of_connect(tmp_path: Path) -> None:
    # the tool prints assignments of Connect in hexadecimal
    workers = generation(3, f"{{w-1-{ID}1=0002ff,w-2-{ID}2=}}").replace('"consumer"', '"connect"')
    group = group_of(dump(tmp_path, (1000, "group_metadata::group=connect", workers)), tmp_path)
    (record,) = group.records
    assert (record.generation, record.n_members, record.protocol_type) == (3, 2, "connect")


@pytest.mark.parametrize(
    ("key", "payload"),
    [
        ("group_metadata::group=g", generation(1, "{w-1=(what)}")),
        ("group_metadata::group=g", generation(1, "{" + "m=[" * 200_000)),  # in a moment
        ("group_metadata::group=g", '{"protocol":"range"}'),
        ("offset_commit::group=" + ",partition=" * 100_000, "offset=1"),
        ("offset_commit::group=g,partition=t", "offset=1"),
        ("offset_commit::group=g,partition=t-1", "offset=many"),
        ("????", "without the decoder"),
    ],
)
def test_unknown_lines_are_reported(key: str, payload: str, tmp_path: Path) -> None:
    path = dump(tmp_path, (1000, key, payload), (2000, "offset_commit::group=g,partition=t-1", "offset=1"))
    (chunk,) = read_dump(path)
    assert [issue.keys for issue in chunk.issues] == ["dump.txt:4"]
    assert chunk.offset.tolist() == [1]
