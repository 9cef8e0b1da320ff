"""A second reading of the log, in the simplest way there is: one dict a group, record by record, no Spark, no numpy.

It shares the table of layouts with the pipeline and nothing else, and gives generations, who joined and left, and what
moved, for classic groups. Gold must say the same, on the recording of a real cluster and on a synthetic log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.found import find_sources
from kohort.protocol.batches import iterate_records, read_batches
from kohort.protocol.consumer_protocol import read_assignment
from kohort.protocol.records.record_reader import decode
from tests.pipeline.local_groups import load_groups
from tests.pipeline.synthetic import Plan, write_segments

Place = tuple[str, int]
GROUP_METADATA, COMMIT = 2, 1


@dataclass
class Generation:
    """One classic generation, from its first record."""

    number: int
    barrier_ms: int
    stored_ms: int
    members: set[str]
    owners: dict[Place, str]
    commits: int = 0
    """Records of commits up to the next generation."""


@dataclass
class Group:
    """What one pass over its records leaves."""

    generations: list[Generation] = field(default_factory=list)
    only_classic: bool = True


def records_of(folder: Path) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Return (timestamp, key, value) of a partition's segments in order, without transaction markers."""
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        for batch in read_batches(data):
            if not batch.attributes & 0x20:
                for record in iterate_records(data, batch):
                    yield record.timestamp_ms, record.key, record.value


def replay(partitions: list[Path]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for folder in partitions:
        for timestamp_ms, key, value in records_of(folder):
            record = decode(key, value)
            name: Any = record.key.get("group", record.key.get("groupId"))
            group = groups.setdefault(name, Group())
            if record.type == COMMIT:
                if group.generations and record.value is not None:
                    group.generations[-1].commits += 1
            elif record.type != GROUP_METADATA:
                group.only_classic = False
            elif record.value is not None:
                take(group, record.value, timestamp_ms)
            else:
                group.generations.append(Generation(0, timestamp_ms, timestamp_ms, set(), {}))
    return groups


def take(group: Group, value: dict[str, Any], timestamp_ms: int) -> None:
    """Add a record; a generation is written again when a static member returns with another id."""
    members = {member["memberId"] for member in value["members"]}
    owners: dict[Place, str] = {}
    for member in value["members"]:
        share = read_assignment(member["assignment"]) if value["protocolType"] == "consumer" else None
        for topic, parts in (share.partitions if share is not None else {}).items():
            owners |= dict.fromkeys(((topic, part) for part in parts), member["memberId"])
    last = group.generations[-1] if group.generations else None
    if last is not None and last.number == value["generation"] and last.members and members:
        last.members, last.owners = members, owners
        return
    stamp = value["currentStateTimestamp"]
    group.generations.append(Generation(value["generation"], stamp, timestamp_ms, members, owners))


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthetic")
    write_segments(Plan(records=40_000, groups=6, members=5, rebalance_every=12, seed=11), folder)
    return folder


@pytest.fixture(params=["recording", "synthetic"])
def segments(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder / "segments" if request.param == "recording" else folder


def test_gold_equals_plain_replay(segments: Path, tmp_path: Path) -> None:
    partitions = sorted({path.parent for path in segments.rglob("*.log")})
    plain = replay(partitions)
    sources, _ = find_sources([str(path) for path in partitions])
    with Writer(tmp_path, "0") as writer:
        ingest(sources, "", writer)
    publish(tmp_path, "0", [writer.task])
    compared = 0
    for name, group in load_groups(tmp_path).items():
        known = plain[name]
        if not known.only_classic or not known.generations:
            continue
        rows = analyse_group(group)
        compare_generations(name, known, list(rows.get("generations", [])))
        compared += compare_rebalances(name, known, list(rows.get("rebalances", [])))
    assert compared > 50


def compare_generations(name: str, known: Group, rows: list[dict[str, Any]]) -> None:
    expected = [g for g in known.generations if g.members]
    found = [row for row in rows if row["members"]]
    assert [row["generation"] for row in found] == [g.number for g in expected], name
    for row, g in zip(found, expected, strict=True):
        assert row["stable_ms"] == g.stored_ms, (name, g.number)
        assert row["start_ms"] == (g.barrier_ms if g.barrier_ms >= 0 else g.stored_ms), (name, g.number)
        assert row["members"] == len(g.members), (name, g.number)
        assert row["partitions"] == len(g.owners), (name, g.number)


def compare_rebalances(name: str, known: Group, rows: list[dict[str, Any]]) -> int:
    """Compare successive generations with members; the rule handles new ids of static members."""
    by_number = {g.number: g for g in known.generations if g.members}
    if len(by_number) < len([g for g in known.generations if g.members]):
        return 0  # the group was deleted and counts from 1 again, so numbers prove nothing
    count = 0
    for row in rows:
        before, after = by_number.get(row["gen_from"]), by_number.get(row["gen_to"])
        if before is None or after is None or row["outcome"] != "completed" or row["gen_from"] == row["gen_to"]:
            continue
        assert row["members_before"] == len(before.members), (name, row["gen_to"])
        assert row["members_after"] == len(after.members), (name, row["gen_to"])
        assert set(row["joined"]) <= after.members - before.members, (name, row["gen_to"])
        common = before.owners.keys() & after.owners.keys()
        if row["moved"] is not None and not row["joined"]:
            assert row["moved"] == sum(before.owners[p] != after.owners[p] for p in common), (name, row["gen_to"])
        count += 1
    return count
