"""Texts that look like a source and aren't, and times and names that nearly are: each gets one clear message."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kohort.cli.analyze import analyze
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.text_log import columns_of, read_text_log
from tests.pipeline.tiny_groups import write_log

SHARE_DUMP = (
    '| offset: 0 CreateTime: 1795858159932 keySize: 36 valueSize: 40 sequence: 0 headerKeys: [] key: {"type":"0","data":'
    '{"groupId":"press-room","topicId":"IqE2U4zJTwennzK5El7ATg","partition":1}} payload: {"version":"0","data":'
    '{"snapshotEpoch":0,"stateEpoch":2,"leaderEpoch":0,"startOffset":-1,"stateBatches":[]}}\n'
)


def analyzed(file: Path, text: str) -> Result:
    file.write_text(text)
    return CliRunner().invoke(analyze, [str(file), "--out", str(file.parent / "out")])


@pytest.mark.parametrize(
    "head",
    [
        "GROUP           TOPIC           PARTITION  START-OFFSET  LAG",
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG",
        "GROUP           COORDINATOR (ID)          STATE           #MEMBERS",
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT",
        "GROUP           MEMBER          PROCESS         CLIENT-ID       ASSIGNMENTS",
    ],
)
def test_snapshots_of_tools_are_rejected(head: str, tmp_path: Path) -> None:
    result = analyzed(
        tmp_path / "groups.txt", f"\n{head}\npress-room      jobs            0          1204          17\n"
    )
    assert result.exit_code == 1
    assert "this is a snapshot: " in result.output


@pytest.mark.parametrize("first", ["Dumping data/__share_group_state-49/0.log\nLog starting offset: 0\n", ""])
def test_dumps_of_share_state_are_rejected(first: str, tmp_path: Path) -> None:
    result = analyzed(tmp_path / "dump.txt", first + SHARE_DUMP)
    assert result.exit_code == 1
    assert "this is a dump of __share_group_state" in result.output
    assert "undecoded" not in result.output


def test_formatted_share_state_is_rejected(tmp_path: Path) -> None:
    key = '{"key":{"type":0,"data":{"groupId":"press","topicId":"IqE2U4zJTwennzK5El7ATg","partition":1}},"value":null}'
    result = analyzed(tmp_path / "state.json", key + "\n")
    assert result.exit_code == 1
    assert "this is a dump of __share_group_state" in result.output


def test_group_metadata_of_0_10(tmp_path: Path) -> None:
    result = analyzed(tmp_path / "groups.txt", "orders::[orders,Some(consumer),Stable,Map(c-1 -> [c-1])]\n")
    assert result.exit_code == 1
    assert "group metadata formatter of Kafka 3.x or older, which prints no times" in result.output


def test_dumps_of_commits_are_still_read(tmp_path: Path) -> None:
    file = tmp_path / "dump.txt"
    file.write_text("Dumping data/__consumer_offsets-49/0.log\nLog starting offset: 0\n")
    assert [source.kind for source in find_sources([str(file)])[0]] == ["dump"]


@pytest.mark.parametrize("day", ["2026/03/14", "2026.03.14", "2026-03-14"])
def test_days_have_any_separator(day: str, tmp_path: Path) -> None:
    file = write_log(tmp_path / "server.log", 1)
    expected = [event.ts for event in read_text_log(file) if isinstance(event, GroupEvent)]
    file.write_text(file.read_text().replace("[2026-03-14", day).replace("] INFO", " INFO"))
    assert [event.ts for event in read_text_log(file) if isinstance(event, GroupEvent)] == expected


@pytest.mark.parametrize(
    "day",
    ["14/03/2026", "14.03.2026", "14-03-2026", "14 Mar 2026", "14/Mar/2026", "03/14/2026"],
)  # fmt: skip
def test_days_precede_year(day: str, tmp_path: Path) -> None:
    file = write_log(tmp_path / "server.log", 1)
    expected = [event.ts for event in read_text_log(file) if isinstance(event, GroupEvent)]
    file.write_text(file.read_text().replace("2026-03-14", day))
    read = list(read_text_log(file))
    assert [event.ts for event in read if isinstance(event, GroupEvent)] == expected
    assert not [event for event in read if isinstance(event, Issue)]


@pytest.mark.parametrize(
    ("days", "first_day", "is_ambiguous"),
    [(["05/03/2026", "06/03/2026"], 5, True), (["03/12/2026", "03/13/2026"], 12, False), (["12/03/2026", "13/03/2026"], 12, False)],
)  # fmt: skip
def test_order_of_day_and_month(days: list[str], first_day: int, is_ambiguous: bool, tmp_path: Path) -> None:
    file = write_log(tmp_path / "server.log", 1)
    text = file.read_text()
    file.write_text("".join(text.replace("2026-03-14", day) for day in days))
    read = list(read_text_log(file))
    dates = [datetime.fromtimestamp(event.ts / 1000, UTC) for event in read if isinstance(event, GroupEvent)]
    assert {date.month for date in dates} == {3}
    assert sorted({date.day for date in dates}) == [first_day, first_day + 1]
    assert [issue.rule for issue in read if isinstance(issue, Issue)] == ["ambiguous_dates"] * is_ambiguous


def test_log_of_0_10(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    words = ("Preparing to restabilize group old with old generation 3", "Stabilized group old generation 4")
    lines = [
        f"[2016-03-14 10:00:0{n},000] INFO [GroupCoordinator 0]: {text} (kafka.coordinator.GroupCoordinator)"
        for n, text in enumerate(words)
    ]
    file.write_text("\n".join(lines) + "\n")
    read = list(read_text_log(file))
    assert [(e.kind, e.group_id, e.generation) for e in read if isinstance(e, GroupEvent)] == [
        ("rebalance_started", "old", 3),
        ("join_completed", "old", 4),
    ]
    (issue,) = [issue for issue in read if isinstance(issue, Issue)]
    assert issue.rule == "old_release"
    assert "Kafka 0.10 or older" in issue.detail
    assert "It contains 1 start of a rebalance and 1 other event" in issue.detail


def test_lines_without_a_date_are_explained(tmp_path: Path) -> None:
    file = write_log(tmp_path / "server.log", 2)
    result = analyzed(file, file.read_text().replace("[2026-03-14 ", "").replace("] INFO", " INFO"))
    assert result.exit_code == 1
    assert "its lines have a time without a date; write the day before each time, as sed" in result.output
    assert "no line or record is about a group" not in result.output
    assert "1 issue" in result.output


def test_lines_without_date_are_counted(tmp_path: Path) -> None:
    file = write_log(tmp_path / "server.log", 2)
    lines = file.read_text().splitlines(keepends=True)
    result = analyzed(file, "".join([*lines[:5], *(line.removeprefix("[2026-03-14 ") for line in lines[5:])]))
    assert result.exit_code == 0
    assert "5 lines have a time without a date" in result.output


@pytest.mark.parametrize("name", ["bay [north] 2", "[a]", "[a][b]", "a", "[", "a[b", "Group [x"])
def test_group_names_have_brackets(name: str) -> None:
    text = f"[GroupId {name}] Bumped group epoch to 2 with metadata hash 4455667788."
    columns = columns_of(text)
    assert columns is not None
    assert columns["group_id"] == name
    assert columns["generation"] == 2
