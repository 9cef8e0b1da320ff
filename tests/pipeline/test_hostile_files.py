"""Files that were written to do harm: numbers without end, dates that aren't, nesting, lines of megabytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources import lines, text_log
from kohort.pipeline.sources.chunk import Issue, chunk_of_rows
from kohort.pipeline.sources.event_lines import read_event_log
from kohort.pipeline.sources.export import read_dump, read_export
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.samples import read_end_offsets, read_topics
from kohort.pipeline.sources.text_log import read_text_log

EVENT = '{{"event_id": "1-b-1", "kind": "member_added", "ts": {}, "generation": {}, "client_id": {}}}'
SAMPLE = '{{"sampled_ms": {}, "topic": {}, "log_end": {{"0": {}}}}}'
EXPORTED = '{{"partition": {}, "offset": {}, "timestamp": {}, "key": null, "value": null}}'
NUMBERS = (
    "1e400",
    "-1e400",
    "NaN",
    "1" + "0" * 30,
    "9" * 5_000,
    "-9223372036854775809",
    '"x"',
    "[]",
    "{}",
    "[" * 90_000,
)
TIME = "[2024-01-01 00:00:00,000] INFO [GroupCoordinator 1]: "


def read(reader: Callable[[Path], Iterator[Any]], path: Path, table: str, *lines: str) -> tuple[list[Any], list[Issue]]:
    """Read these lines, and return the issues after a table has taken all rows."""
    path.write_text("\n".join(lines) + "\n")
    found = list(reader(path))
    rows = [each for each in found if not isinstance(each, Issue)]
    table_of(table, rows, "here")
    return rows, [each for each in found if isinstance(each, Issue)]


@pytest.mark.parametrize("number", NUMBERS)
def test_impossible_number_skips_its_line(number: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = EVENT.format(1, 2, '"c"')
    events, issues = read(
        read_event_log, path, "events", good, EVENT.format(number, 2, '"c"'), EVENT.format(1, number, '"c"'), good
    )
    assert (len(events), [issue.rule for issue in issues]) == (2, ["unreadable_line"] * 2)
    good = SAMPLE.format(1, '"orders"', 3)
    samples, issues = read(
        read_end_offsets, path, "end_offsets", SAMPLE.format(number, '"t"', 1), good, SAMPLE.format(1, '"t"', number)
    )
    assert (len(samples), len(issues)) == (1, 2)
    path.write_text("\n".join([EXPORTED.format(1, 2, 3), EXPORTED.format(number, 2, 3), EXPORTED.format(1, 2, number)]))
    (chunk,) = read_export(path)
    assert (len(chunk), len(chunk.issues)) == (1, 2)


@pytest.mark.parametrize("ms", [-1, -(1 << 63), 4_102_444_800_000, (1 << 63) - 1])
def test_event_outside_valid_years_is_skipped(ms: int, tmp_path: Path) -> None:
    events, issues = read(read_event_log, tmp_path / "a.jsonl", "events", EVENT.format(ms, 1, '"c"'))
    assert (len(events), len(issues)) == (0, 1)


def test_record_times_are_clamped() -> None:
    # tables have a row per day, and `datetime` ends in the year 9999
    times = [1, -(1 << 63), -1, (1 << 63) - 1]
    chunk = chunk_of_rows([(0, offset, time, None, None) for offset, time in enumerate(times)])
    rows = SilverRows("here", 0)
    tables = dict([*rows.add(chunk), *rows.finish()])
    (issue,) = (row for row in tables["dq_issues"].to_pylist() if row["rule"] == "impossible_time")
    assert issue["detail"].startswith("2 times are before 1970 or after 2099")
    (stretch,) = tables["log_ranges"].to_pylist()
    assert (stretch["first_ts_ms"], stretch["last_ts_ms"]) == (1, 4_102_444_799_999)


def test_half_a_surrogate_becomes_its_escape(tmp_path: Path) -> None:
    (event,), _ = read(read_event_log, tmp_path / "a.jsonl", "events", EVENT.format(1, 2, '"\\ud800"'))
    assert event.client_id == "\\ud800"
    (sample,), _ = read(read_end_offsets, tmp_path / "b.jsonl", "end_offsets", SAMPLE.format(1, '"\\ud800"', 1))
    assert sample.topic == "\\ud800"


def test_nesting_is_no_list_of_topics(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    path.write_text("[\n" + "[" * 90_000)
    (issue,) = read_topics(path)
    assert isinstance(issue, Issue)
    assert issue.rule == "unreadable_line"


def test_files_of_nesting_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a":' * 90_000)
    found, _ = find_sources([str(tmp_path)])
    assert found == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
COLUMNS = ("kind", "ts", "generation", "seq", "client_id", "detail", "joined", "v")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.dictionaries(st.sampled_from(COLUMNS), VALUES), max_size=5))
def test_any_json_is_event_or_issue(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    lines = [json.dumps({"kind": "k", "ts": 1} | row) for row in rows]
    events, issues = read(read_event_log, tmp_path / "a.jsonl", "events", *lines)
    assert len(events) + len(issues) == len(rows)


@pytest.mark.parametrize(
    "line",
    [
        "[2024-99-99 00:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g generation 1 with 1 members",
        TIME + f"Stabilized group g generation {'9' * 40} with 1 members",
        TIME + f"Stabilized group g generation {'9' * 5_000} with 1 members",
        TIME.replace("r 1]", f"r {'9' * 40}]") + "Stabilized group g generation 1 with 1 members",
        TIME + f"Stabilized group {'g' * (1 << 20)} generation 1 with 1 members",
    ],
    ids=["date", "number", "longer number", "node", "line"],
)
def test_impossible_log_line_is_counted(line: str, tmp_path: Path) -> None:
    good = TIME + "Stabilized group g generation 1 with 1 members"
    events, issues = read(read_text_log, tmp_path / "server.log", "events", good, line, good)
    assert (len(events), len(issues)) == (2, 1)
    assert issues[0].detail.startswith("1 lines with '[GroupCoordinator and ")


def fragments(pattern: str) -> list[str]:
    """Return the parts of an expression between its names."""
    plain = re.sub(r"\(\?>|\(\?P<\w+>(?:\\.|[^()])*\)|\(\?[:!]|[()]|\\A|\.\*\??|[?+$|]", "\0", pattern)
    return [re.sub(r"\\(.)", r"\1", word) for word in plain.split("\0") if word.strip()]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("words", [words for words, _, _ in text_log._PATTERNS])
def test_no_line_keeps_an_expression_busy(words: str) -> None:
    # with three names per line, 8 KB of repeated separators once took 18 s
    (pattern,) = (each for of, each, _ in text_log._PATTERNS if of == words)
    parts = fragments(pattern.pattern)
    for count in range(1, len(parts) + 1):
        for repeated in ("x 1 ".join(parts[:count]), parts[count - 1], parts[0]):
            for begun in ("", parts[0] + "x ", "x 1".join(parts[:count]) + " x"):
                pattern.search((begun + repeated * (100_000 // len(repeated) + 1))[:100_000])


@pytest.mark.timeout(180)
def test_six_megabyte_line_is_fast(tmp_path: Path) -> None:
    for text in ("Member a in group ", "Static member with groupInstanceId=a and unknown member id b joins group "):
        line = TIME + text * (6_000_000 // len(text)) + " has failed, removing it Replacing previously mapped member"
        _, issues = read(read_text_log, tmp_path / "server.log", "events", line)
        assert len(issues) == 1


def test_endless_line_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 10)
    (tmp_path / "log").write_bytes(b"x" * 25 + b"\nnext\n")
    assert list(lines.read_lines(tmp_path / "log")) == ["x" * 10, "x" * 10, "x" * 5, "next"]


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "text", ["baseOffset: 1 producerId: 1 ", "| offset: 1 CreateTime: 1 key: {", " key: {}} payload:"]
)
def test_nor_does_a_dump(text: str, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_text("Dumping __consumer_offsets-0/0.log\n" + text * (3_000_000 // len(text)))
    (chunk,) = read_dump(path)
    assert [issue.rule for issue in chunk.issues] == ["unreadable_line"]


def test_out_of_range_dump_numbers(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    batch = "baseOffset: 1 producerId: {0} partitionLeaderEpoch: {0} isTransactional: true isControl: false"
    path.write_text(
        f"Dumping __consumer_offsets-{'9' * 30}/0.log\n{batch.format('9' * 30)}\n{batch.format('9' * 5_000)}"
    )
    (chunk,) = read_dump(path)
    assert len(chunk.issues) == 3


def test_csv_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('partition,offset,timestamp,key,value\n1,2,3,,\n1,2,3,"' + "x" * (17 << 20) + "\n1,2,3,,\n")
    (chunk,) = read_export(path)
    assert len(chunk) >= 1
    assert chunk.issues
