"""What the console consumer's formatters print is read: commits of 3.x and 4.x, groups of 4.x."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from kohort.pipeline.history.classic_timeline import classic_timeline
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.export import read_export
from kohort.pipeline.sources.found import EXPORT, find_sources
from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from tests.pipeline.local_groups import load_groups

COMMIT = (
    "[{}]::OffsetAndMetadata(offset={}, leaderEpoch=Optional[0], metadata={}, commitTimestamp={}, expireTimestamp=None)"
)


def groups_of(folder: Path, *lines: str) -> dict[str, GroupInput]:
    path = folder / "printed.txt"
    path.write_text("\n".join(lines) + "\n")
    sources, issues = find_sources([str(path)])
    assert ([source.kind for source in sources], issues) == ([EXPORT], [])
    with Writer(folder / "silver", "0") as writer:
        ingest(sources, "", writer)
    publish(folder / "silver", "0", [writer.task])
    return load_groups(folder / "silver")


def test_commits_as_3_x_prints_them(tmp_path: Path) -> None:
    groups = groups_of(
        tmp_path,
        COMMIT.format("orders,eu,t,0", 10, "", 1000),  # a group may have commas in its name, a topic has none
        COMMIT.format("orders,eu,t,0", 12, "by hand, offset=7", 2000),
        COMMIT.format("orders,eu,t,1", 5, "", 3000),
        "[orders,eu,t,1]::NULL",
    )
    commits = groups["orders,eu"].commits
    assert (commits["t", 0].ts_ms.tolist(), commits["t", 0].committed.tolist()) == ([1000, 2000], [10, 12])
    assert commits["t", 1].gone_ms.tolist() == [3000]


def test_commits_as_0_10_prints_them(tmp_path: Path) -> None:
    groups = groups_of(
        tmp_path,
        "[orders,t,0]::[OffsetMetadata[10,NO_METADATA],CommitTime 1000,ExpirationTime 9000]",
        "[orders,t,0]::[OffsetMetadata[12,by hand, [1]],CommitTime 2000,ExpirationTime 9000]",
    )
    commits = groups["orders"].commits["t", 0]
    assert (commits.ts_ms.tolist(), commits.committed.tolist()) == ([1000, 2000], [10, 12])


def as_json(kind: int, key: dict[str, object], version: int, value: dict[str, object] | None) -> str:
    body = None if value is None else {"version": version, "data": value}
    return json.dumps({"key": {"type": kind, "data": key}, "value": body})


def test_kafka_4_console_formatter_output(tmp_path: Path) -> None:
    commit = {"offset": 7, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 5000}
    subscription = write_subscription(Subscription(topics=("t",)))
    assignment = write_assignment(Assignment(partitions={"t": (0, 1)}))
    member = {
        "memberId": "c-1-x", "groupInstanceId": None, "clientId": "c-1", "clientHost": "/10.0.0.7",
        "rebalanceTimeout": 300_000, "sessionTimeout": 45_000,
        "subscription": base64.b64encode(subscription).decode(), "assignment": base64.b64encode(assignment).decode(),
    }  # fmt: skip
    group = {
        "protocolType": "consumer", "generation": 3, "protocol": "range", "leader": "c-1-x",
        "currentStateTimestamp": 4000, "members": [member],
    }  # fmt: skip
    found = groups_of(
        tmp_path,
        as_json(2, {"group": "orders"}, 3, group),
        as_json(1, {"group": "orders", "topic": "t", "partition": 0}, 3, commit),
    )["orders"]
    (generation,) = classic_timeline(found).generations
    assert (generation.number, generation.stable_ms) == (3, 4000)
    assert generation.owners == {("t", 0): "c-1-x", ("t", 1): "c-1-x"}
    assert found.commits["t", 0].committed.tolist() == [7]


def test_lines_of_another_kind_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text("\n".join([COMMIT.format("g,t,0", 1, "", 1000), "Processed a total of 1 messages"]) + "\n")
    (chunk,) = read_export(path)
    assert len(chunk) == 1
    assert [issue.keys for issue in chunk.issues] == ["printed.txt:2"]
