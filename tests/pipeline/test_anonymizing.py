"""`kohort analyze --anonymize`: the same findings, and no original name in any output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.cli.what_if import what_if
from kohort.pipeline.analysis.analysis_run import Outcome, analyse
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.silver.anonymizing import CONTENT_OF_COLUMNS, anonymize
from kohort.pipeline.silver.silver_schemas import SCHEMAS
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.lacking import TEXTS
from kohort.pipeline.terminal import print_findings
from tests.pipeline.incidents.recorded import RECORDED, unpacked
from tests.pipeline.own_logs import slow_member

_NAMES = (
    "group_id", "topic", "topics", "subscribed_topics", "member_id", "leader", "instance_id", "client_id",
    "client_host", "rack", "regex", "waited_for", "joined", "left", "evicted", "process_id",
)  # columns of silver with names  # fmt: skip
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[\w+/-]{22}")
# names in the recordings that are also words of findings and columns
_WORDS = {
    "assigned", "behind", "flapping", "growing", "idle", "killed", "moves", "pattern", "restoring", "rewind", "rolling",
    "storm", "suspended", "throttled", "unowned",
}  # fmt: skip
_FIXED = ("__", "console-consumer", "perf-consumer-client", "console-share-consumer", "rdkafka")


class Analyzed(NamedTuple):
    outcome: Outcome
    folder: Path


def _analyzed(source: Path, out: Path, *, anonymous: bool) -> Analyzed:
    sources, issues = find_sources([str(source)])
    return Analyzed(analyse(LocalEngine(), sources, issues, out, lambda _: None, anonymous=anonymous), out)


@pytest.fixture(scope="module")
def both(recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Analyzed, Analyzed]]:
    """Analyses of a recording without and with the option."""

    def analyzed_twice(name: str) -> tuple[Analyzed, Analyzed]:
        folder = tmp_path_factory.mktemp("anonymize")
        source = recording if name == "recording" else unpacked(name, folder / "source")
        return (
            _analyzed(source, folder / "plain", anonymous=False),
            _analyzed(source, folder / "anonymous", anonymous=True),
        )

    return analyzed_twice


@pytest.mark.long
@pytest.mark.parametrize("name", [*RECORDED, "recording"])
def test_findings_are_equal_without_names(
    name: str, both: Callable[[str], tuple[Analyzed, Analyzed]], capsys: pytest.CaptureFixture[str]
) -> None:
    plain, anonymous = both(name)
    assert plain.outcome.findings
    assert list(map(_figures, anonymous.outcome.findings)) == list(map(_figures, plain.outcome.findings))
    assert len(anonymous.outcome.health) == len(plain.outcome.health)
    capsys.readouterr()
    print_findings(anonymous.outcome, verbose=True)
    printed = "\n".join(capsys.readouterr())
    names = _names(plain.folder)
    assert len(names) > 5
    assert _occurring(names, {"terminal": printed} | _texts(anonymous.folder)) == []
    assert _occurring(names, _texts(plain.folder)), "the search finds names where they are"


def _figures(finding: FindingRow) -> tuple[object, ...]:
    """Return a finding without its names."""
    columns = ("rule", "title", "severity", "confidence", "cause_confidence", "start_ms", "end_ms")
    evidence = {key: _shape(value) for key, value in finding["evidence"].items()}
    values: dict[str, Any] = dict(finding)
    return (*(values[column] for column in columns), len(finding["clients"]), evidence)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return type(value) if isinstance(value, str) else value


def _names(folder: Path) -> set[str]:
    """Return all names in the silver tables of an analysis."""
    names: set[str] = set()
    for path in (folder / "tables" / "silver").rglob("*.parquet"):
        rows = pq.read_table(path)
        for column in set(_NAMES) & set(rows.column_names):
            names.update(_strings(rows[column].to_pylist()))
    names = {name.lstrip("/") for name in names if not _UUID.fullmatch(name) and not name.startswith(_FIXED)}
    return names - {""} - _WORDS


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _texts(folder: Path) -> dict[str, str]:
    """Return the text of every file of a folder; of a Parquet file also the texts of its columns."""
    texts = {}
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            rows = pq.read_table(path)
            columns = [set(_strings(rows[name].to_pylist())) for name in rows.column_names]
            texts[str(path)] = "\n".join(sorted(set().union(*columns)))
        elif path.is_file():
            texts[str(path)] = path.read_text()
    return texts


def _occurring(names: set[str], texts: dict[str, str]) -> list[tuple[str, str]]:
    """Return the names that occur in the texts as whole words, with the place."""
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(names, reverse=True)))})(?![\w-])")
    return [(path, match[0]) for path, text in texts.items() if (match := pattern.search(text))]


def test_event_log_names_are_replaced(tmp_path: Path) -> None:
    slow_member().save(tmp_path / "logs")
    plain = _analyzed(tmp_path / "logs", tmp_path / "plain", anonymous=False)
    anonymous = _analyzed(tmp_path / "logs", tmp_path / "anonymous", anonymous=True)
    assert list(map(_figures, anonymous.outcome.findings)) == list(map(_figures, plain.outcome.findings))
    names = _names(plain.folder)
    assert {"ada", "bob", "eve", "billing", "orders"} <= names
    assert _occurring(names, _texts(anonymous.folder)) == []
    replacements: dict[str, set[str]] = {}
    for path in (plain.folder / "tables" / "silver").rglob("*.parquet"):
        original = pq.read_table(path)
        after = pq.read_table(anonymous.folder / path.relative_to(plain.folder))
        for column in set(_NAMES) & set(original.column_names):
            pairs = zip(_strings(original[column].to_pylist()), _strings(after[column].to_pylist()), strict=True)
            for name, replacement in pairs:
                replacements.setdefault(name, set()).add(replacement)
    assert all(len(values) == 1 for values in replacements.values()), "a name has one replacement in all tables"
    assert len(set().union(*replacements.values())) == len(replacements), "names stay different"


def test_views_name_no_local_path(tmp_path: Path) -> None:
    slow_member().save(tmp_path / "logs")
    _analyzed(tmp_path / "logs", tmp_path / "out", anonymous=True)
    for path in (tmp_path / "out" / "tables").glob("*.sql"):
        assert "tables/gold" in path.read_text()
        assert str(tmp_path) not in path.read_text()


def test_every_text_column_has_content() -> None:
    for table, schema in SCHEMAS.items():
        for field in schema:
            value_type = field.type.value_type if pa.types.is_list(field.type) else field.type
            if pa.types.is_string(value_type) and (table, field.name) != ("dq_issues", "detail"):
                assert field.name in CONTENT_OF_COLUMNS, f"{table}.{field.name}"


def test_issues_keep_own_words_only(tmp_path: Path) -> None:
    issues = [
        Issue("unreadable_line", "/srv/acme/server.log:12", "not an event: Expecting value near acme-orders"),
        Issue("cluster_gone", "kafka-1.acme.example:9092, partition 3", "reading ended early: timed out"),
        Issue("compacted_range", "__consumer_offsets-7", "offsets 1 to 7 of 9 have gaps: only partly known"),
        *(Issue("no_source", "/srv/acme/server.log", text) for text in TEXTS),
    ]
    replaced, _ = anonymize(tmp_path / "none", tmp_path / "silver", issues)
    assert replaced == [
        Issue("unreadable_line", "source-1:12", "not an event: Expecting value …"),
        Issue("cluster_gone", "source-2, partition 3", "reading ended early: timed out"),
        Issue("compacted_range", "__consumer_offsets-7", "offsets 1 to 7 of 9 have gaps: only partly known"),
        *(Issue("no_source", "source-1", text) for text in TEXTS),
    ]


def test_command_rejects_other_engines(tmp_path: Path) -> None:
    for options in (["--engine", "spark"], ["--cluster", "local[2]"], ["--out", "s3://bucket/x"]):
        outcome = CliRunner().invoke(analyze, ["localhost:9092", "--anonymize", *options])
        assert outcome.exit_code == 2, options
        assert "Error: --anonymize " in outcome.output, options


def test_command_prints_replaced_names(tmp_path: Path) -> None:
    slow_member().save(tmp_path / "logs")
    arguments = [str(tmp_path / "logs"), "--anonymize", "--verbose", "--out", str(tmp_path / "out")]
    outcome = CliRunner().invoke(analyze, arguments)
    assert outcome.exit_code == 0
    assert "group-1" in outcome.stdout
    assert _occurring({"ada", "bob", "eve", "billing", "orders"}, {"stdout": outcome.stdout}) == []


def test_anonymous_history_is_played(tmp_path: Path) -> None:
    slow_member().save(tmp_path / "logs")
    answers = []
    for options in ([], ["--anonymize"]):
        arguments = [str(tmp_path / "logs"), "--group", "billing", "--set", "session.timeout.ms=20000", *options]
        answers.append(CliRunner().invoke(what_if, arguments))
    plain, anonymous = answers
    assert anonymous.exit_code == plain.exit_code
    assert "group-1" in anonymous.output
    assert _occurring({"ada", "bob", "eve", "billing", "orders"}, {"output": anonymous.output}) == []
