"""Readiness of groups for the consumer protocol, with recorded groups of client libraries on Kafka 4.3.

Each group of `incidents/libraries` has two members of one library.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.readiness import Readiness, can_move, readiness
from kohort.whatif.played_settings import Settings
from kohort.whatif.virtual_cluster import GROUP
from tests.pipeline.incidents.recorded import Recorded, log_alone, recorded, text_alone
from tests.whatif.recorded import record, rolling

LIBRARIES = Path(__file__).parent / "incidents" / "libraries" / "kafka-4.3.tar.gz"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GroupInput]:
    folder = tmp_path_factory.mktemp("libraries")
    with tarfile.open(LIBRARIES) as packed:
        packed.extractall(folder, filter="data")
    groups: dict[str, GroupInput] = {}
    for recording in sorted(folder.iterdir()):
        groups |= recorded(recording)
    return groups


def checked(group: GroupInput) -> Readiness:
    return readiness(analyse(group))


def blockers(checked_group: Readiness) -> list[tuple[str, str]]:
    return [(s.certainty, s.text) for s in checked_group.statements if s.subject == "blocker"]


@pytest.mark.parametrize(
    "group", ["lib-java-43-cooperative", "lib-java-43-sticky", "lib-librdkafka-default", "lib-franz-go-range"]
)
def test_convertible_group_has_no_blocker(libraries: dict[str, GroupInput], group: str) -> None:
    result = checked(libraries[group])
    assert (result.verdict, blockers(result)) == ("no known blocker", [])
    assert can_move(analyse(libraries[group]))


@pytest.mark.parametrize(
    ("group", "size"), [("lib-librdkafka-cooperative", 31), ("lib-sarama-sticky", 43)]
)  # fmt: skip
def test_assignment_user_data_blocks_move(libraries: dict[str, GroupInput], group: str, size: int) -> None:
    result = checked(libraries[group])
    certainty, text = blockers(result)[0]
    assert (result.verdict, certainty) == ("not ready", "certain")
    assert f"user data ({size} bytes)" in text


@pytest.mark.parametrize(
    "group",
    [
        "lib-aiokafka",
        "lib-kafka-python-3",
        "lib-kafka-python-202",
        "lib-kafka-go",
        "lib-sarama",
        "lib-java-11-default",
        "lib-java-28-default",
    ],
)
def test_old_client_is_likely_blocker(libraries: dict[str, GroupInput], group: str) -> None:
    result = checked(libraries[group])
    assert result.verdict == "probably not ready"
    assert [certainty for certainty, _ in blockers(result)] == ["likely"]


@pytest.mark.parametrize(
    ("group", "verdict", "movable"),
    [
        ("lib-connect", "not ready", False),
        ("lib-streams-43-classic", "not ready", False),
        ("lib-streams-43-streams", "has a protocol of its own", False),
        ("lib-librdkafka-consumer", "uses the consumer protocol", False),
    ],
)
def test_other_group_cannot_move(
    libraries: dict[str, GroupInput], group: str, verdict: str, movable: bool
) -> None:  # fmt: skip
    analysis = analyse(libraries[group])
    assert (readiness(analysis).verdict, can_move(analysis)) == (verdict, movable)


def test_librdkafka_is_likely_blocked_early(libraries: dict[str, GroupInput]) -> None:
    group = log_alone(libraries["lib-librdkafka-cooperative"])
    first = min(r.offset for r in group.records if r.n_members)
    group.records = [r for r in group.records if r.offset <= first]
    result = checked(group)
    assert result.verdict == "probably not ready"
    assert "from the second generation on" in blockers(result)[0][1]


def test_readiness_unknown_without_offsets_topic(incidents: Callable[[str], Recorded]) -> None:
    group = text_alone(incidents("refused-move-kafka-4.3").groups["new-protocol-stays-range"])
    result = checked(group)
    assert result.verdict == "not known"
    assert [statement.certainty for statement in result.statements] == ["unknown"]


def test_refused_conversion_is_named(incidents: Callable[[str], Recorded]) -> None:
    group = incidents("refused-move-kafka-4.3").groups["new-protocol-librdkafka-cooperative-to-consumer"]
    converted_ms = min(r.ts_ms for r in group.records if r.record_type == 3 and not r.is_tombstone)
    unconverted = log_alone(group)
    unconverted.records = [r for r in group.records if r.ts_ms < converted_ms]
    unconverted.events = [e for e in group.events if e.ts < converted_ms and e.kind == "conversion_refused"]
    texts = [text for certainty, text in blockers(checked(unconverted)) if certainty == "certain"]
    assert any("userData from a custom assignor would be lost" in text for text in texts)


@pytest.mark.long
def test_readiness_is_printed_and_written(tmp_path: Path) -> None:
    record(tmp_path / "logs", rolling(3), Settings(session_ms=10_000))
    out = tmp_path / "out"
    result = CliRunner().invoke(analyze, [str(tmp_path / "logs"), "--out", str(out), "--readiness"])
    assert result.exit_code == 0, result.output
    assert f"{GROUP}: no known blocker" in result.output
    (row,) = json.loads((out / "readiness.json").read_text())
    costs = [statement["text"] for statement in row["statements"] if statement["subject"] == "cost"]
    assert [text.partition(":")[0] for text in costs] == ["the move", "after the move"]
    assert any("consumer.session.timeout.ms=10000" in statement["advice"] for statement in row["statements"])
    report = (out / "report.html").read_text()
    assert 'id="readiness"' in report
    assert "a rolling restart of 3 members" in report
    result = CliRunner().invoke(analyze, [str(tmp_path / "logs"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert not (out / "readiness.json").exists()
    assert 'id="readiness"' not in (out / "report.html").read_text()
