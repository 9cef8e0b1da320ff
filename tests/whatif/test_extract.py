"""Scripts from recorded histories, and predictions that other recordings confirm."""

from __future__ import annotations

import dataclasses
import json
import re
from array import array
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.cli.what_if import what_if
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.whatif.answer import ask
from kohort.whatif.deploy_order import reorder
from kohort.whatif.extract import compress, extract
from kohort.whatif.group_history import read_history
from kohort.whatif.played_settings import Settings
from kohort.whatif.playing import play
from kohort.whatif.question import FEWEST_SEEDS
from kohort.whatif.script import Event
from kohort.whatif.virtual_cluster import GROUP
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.own_logs import LoggedWorld
from tests.whatif.recorded import record, rolling, script


def history_of(folder: Path) -> list[str]:
    return [str(folder)]


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"partition.assignment.strategy": "cooperative-sticky"}, Settings(assignor="cooperative-sticky")),
        ({"group.instance.id": "static"}, Settings(static=True)),
        ({"group.protocol": "consumer"}, Settings(protocol="consumer", heartbeat_ms=5_000)),
    ],
)
def test_prediction_agrees_with_recorded_pair(tmp_path: Path, changes: dict[str, str], settings: Settings) -> None:
    record(tmp_path, rolling(), Settings())
    truth = record(tmp_path / "other", rolling(), settings, seed=5).figures
    analysis = read_history([str(tmp_path / "__consumer_offsets-0"), str(tmp_path / "log-ends.jsonl")], {GROUP})[GROUP]
    answer = ask(analysis, [changes])
    assert answer.calibration.is_good, answer.calibration.failures
    (_, predicted) = answer.predictions.values()
    assert predicted.figures["rebalances"] == truth.rebalances
    low, high = predicted.ranges["stalled_partition_seconds"]
    assert low - 3 <= truth.stalled_partition_seconds <= high + 3


def test_crash_is_found(tmp_path: Path) -> None:
    crash = script([Event(25_000, "kill", "m2"), Event(30_000, "start", "m2")], end_ms=70_000)
    record(tmp_path, crash, Settings(session_ms=10_000))
    extracted, settings = extract(read_history(history_of(tmp_path), {GROUP})[GROUP])
    kills = [event for event in extracted.events if event.action == "kill"]
    assert settings.session_ms == 10_000
    assert len(kills) == 1
    assert kills[0].at_ms == pytest.approx(25_000, abs=1_600)  # half a heartbeat interval


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GroupAnalysis]:
    return read_history([str(unpacked("what-if-kafka-4.3", tmp_path_factory.mktemp("logs")))], {"*"})


@pytest.mark.parametrize("group", ["slow-batch-range", "slow-batch-cooperative", "slow-batch-consumer"])
def test_long_batches_are_found(incidents: dict[str, GroupAnalysis], group: str) -> None:
    slow = [event for event in extract(incidents[group])[0].events if event.action == "slow"]
    assert [event.member for event in slow] == ["m2", "m3"]
    assert [event.ms for event in slow] == pytest.approx([12_000, 12_000], abs=700)
    assert ask(incidents[group], []).calibration.is_good


@pytest.mark.parametrize("group", ["crash-session10", "rolling-static"])
def test_recorded_history_is_reproduced(incidents: dict[str, GroupAnalysis], group: str) -> None:
    assert ask(incidents[group], []).calibration.is_good


def test_producer_pause_is_not_long_batch(tmp_path: Path) -> None:
    idle = script([], end_ms=90_000)
    for times in idle.arrivals.values():
        times[:] = array("q", [ms for ms in times if not 30_000 < ms < 45_000])
    record(tmp_path, idle, Settings())
    assert extract(read_history(history_of(tmp_path), {GROUP})[GROUP])[0].events == []


def test_return_of_static_member_is_exact(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings(static=True))
    extracted, _ = extract(read_history(history_of(tmp_path), {GROUP})[GROUP])
    starts = [event for event in extracted.events if event.action == "start"]
    assert [(event.member, event.early_ms) for event in starts] == [("m1", 0), ("m2", 0), ("m3", 0), ("m4", 0)]


@pytest.mark.parametrize("first_record_ms", [37_500, 70_000])
def test_added_partitions_are_played(tmp_path: Path, first_record_ms: int) -> None:
    grown = script([Event(35_000, "grow", partitions=12)], end_ms=82_000, members=3)
    new = {number: array("q", range(first_record_ms, 82_000, 500)) for number in range(8, 12)}
    record(tmp_path, dataclasses.replace(grown, arrivals={**grown.arrivals, **new}), Settings(metadata_ms=30_000))
    answer = ask(read_history(history_of(tmp_path), {GROUP})[GROUP], [], {"metadata.max.age.ms": "30000"})
    assert answer.calibration.is_good, answer.calibration.failures
    assert answer.calibration.observed["rebalances"] == 1


def test_phases_survive_compression() -> None:
    events = [Event(300_000, "stop", "m1"), Event(303_000, "start", "m1")]
    compressed_ms = compress(script(events, end_ms=330_000), Settings(heartbeat_ms=3_000)).compressed_ms
    beat_ms = 3_000 + 12  # with the usual delay of Java's heartbeats
    assert compressed_ms > 250_000
    assert compressed_ms % beat_ms == 0


@pytest.mark.parametrize(("delay_ms", "extracted_ms"), [(0, 0), (2_000, 2_000), (3_000, 3_000)])
def test_initial_delay_is_inferred(tmp_path: Path, delay_ms: int, extracted_ms: int) -> None:
    world = LoggedWorld(group_initial_rebalance_delay_ms=delay_ms)
    ada = world.consumer("ada")
    ada.enters()
    world.after(delay_ms)
    world.shared(ada)
    world.consume(5, ada)
    world.save(tmp_path / "logs")
    extracted, settings = extract(read_history([str(tmp_path / "logs")], {"billing"})["billing"])
    assert settings.initial_delay_ms == extracted_ms
    assert any(source.element == "initial rebalance delay" for source in extracted.sources) == (delay_ms < 3_000)


def test_script_names_its_sources(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings())
    extracted, _ = extract(read_history(history_of(tmp_path), {GROUP})[GROUP])
    origins = {source.element: source.origin for source in extracted.sources}
    assert origins["assignor"] == "observed"
    assert origins["heartbeat interval"] == "unknown"
    assert origins["crashes"] == "inferred"


def test_compressed_script_costs_the_same() -> None:
    pause_ms = 3_600_000
    events = [Event(ms, "stop" if ms % 2 else "start", "m1") for ms in (25_001, 28_000)]
    later_events = [event._replace(at_ms=event.at_ms + pause_ms) for event in events]
    long = script([*events, *later_events], end_ms=pause_ms + 100_000)
    short = compress(long, Settings())
    assert short.end_ms < 200_000
    assert len(short.events) == 4
    assert short.compressed_ms == long.end_ms - short.end_ms


@pytest.mark.parametrize(("limit_ms", "is_stated"), [("5000", True), ("60000", False)])
def test_short_poll_limit_states_assumption(
    incidents: dict[str, GroupAnalysis], limit_ms: str, *, is_stated: bool
) -> None:
    answer = ask(incidents["slow-batch-range"], [{"max.poll.interval.ms": limit_ms}])
    assert any("slow for every member" in clause for clause in answer.assumptions()) == is_stated


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(what_if, arguments)
    return result.exit_code, result.output


def test_command_prints_variants(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings())
    result = CliRunner().invoke(
        what_if, [str(tmp_path), "--group", GROUP, "--set", "group.instance.id=static", "--json"]
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [variant["name"] for variant in answer["variants"]] == ["as it was", "group.instance.id=static"]
    assert answer["variants"][1]["figures"]["rebalances"] == 0
    assert answer["variants"][0]["timeline"]["rebalances_ms"]


def test_report_draws_each_variant(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings())
    page, variant = tmp_path / "page.html", "partition.assignment.strategy=cooperative-sticky"
    code, output = run(str(tmp_path), "--group", GROUP, "--set", variant, "--report", str(page))
    assert code == 0, output
    html = page.read_text(encoding="utf-8")
    assert html.count(f"{variant}</text>") == 1
    assert f'<th scope="row">{variant}</th><td class="n">12</td>' in html  # all seeds agree: no range
    assert html.count("<title>rebalance</title>") == 8 + 12
    stalls = re.findall(r"<title>no progress for ([\d.]+) s</title>", html)
    assert sum(map(float, stalls)) == pytest.approx(16.9 + 39.9, rel=0.1)
    assert {f"m{number}" for number in range(1, 5)} == set(re.findall(r"<title>(m\d)</title>", html))


def test_analysis_reports_other_settings(tmp_path: Path) -> None:
    record(tmp_path / "log", rolling(), Settings())
    arguments = [str(tmp_path / "log"), "--out", str(tmp_path / "out"), "--engine", "local"]
    result = CliRunner().invoke(analyze, [*arguments, "--what-if", "group.instance.id=static"])
    assert result.exit_code == 0, result.output
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert '<a href="#what-if">What if</a>' in html
    section = html.split('<h2 id="what-if">')[1]
    assert "reproduces the history" in section
    assert section.count("group.instance.id=static</text>") == 1
    assert section.count("<title>rebalance</title>") == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("session.timout.ms=1", "did you mean 'session.timeout.ms'?"),
        ("session.timeout.ms", "--what-if expects NAME=VALUE"),
    ],
)
def test_analysis_rejects_unknown_setting(tmp_path: Path, change: str, message: str) -> None:
    record(tmp_path / "log", script([], end_ms=12_000), Settings())
    result = CliRunner().invoke(analyze, [str(tmp_path / "log"), "--out", str(tmp_path / "out"), "--what-if", change])
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


def test_unwritable_report_is_one_error(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings())
    report = tmp_path / "absent" / "page.html"
    code, output = run(str(tmp_path), "--group", GROUP, "--set", "group.instance.id=static", "--report", str(report))
    assert code == 1
    assert f"cannot write {report}: No such file or directory" in output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--group", "absent", "--set", "group.protocol=consumer"], 1, "group absent is not in these sources"),
        (["--group", GROUP, "--set", "session.timout.ms=1"], 2, "did you mean 'session.timeout.ms'?"),
        (["--group", GROUP, "--set", "consumer.session.timeout.ms=9000"], 2, "does not apply to the classic protocol"),
        (["--group", GROUP, "--set", "session.timeout.ms=2000"], 2, "contradicts a session timeout"),
        (["--group", GROUP, "--set", "session.timeout.ms"], 2, "expects NAME=VALUE"),
        (["--group", GROUP], 2, "name changes with --set"),
    ],
)
def test_command_reports_errors(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    record(tmp_path, script([], end_ms=12_000), Settings())
    result = run(str(tmp_path), *arguments)
    assert result[0] == code
    assert message in result[1].replace("\n", " ")


def test_irreproducible_history_is_not_predicted(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings(heartbeat_ms=15_000))
    code, output = run(str(tmp_path), "--group", GROUP, "--set", "group.instance.id=static")
    assert code == 1
    assert "cannot predict" in output
    assert "add the broker's log" in output
    assert "log ends" not in output.split("Error:")[1]
    code, _ = run(
        str(tmp_path), "--group", GROUP, "--set", "group.instance.id=static", "--given", "heartbeat.interval.ms=15000"
    )
    assert code == 0


def test_deploy_order_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.whatif.question.SEEDS", FEWEST_SEEDS)  # it plays many changes
    record(tmp_path, rolling(), Settings())
    result = CliRunner().invoke(what_if, [str(tmp_path), "--group", GROUP, "--suggest", "--json"])
    assert result.exit_code == 0, result.output
    variants = {variant["name"]: variant for variant in json.loads(result.stdout)["variants"]}
    at_once, one_by_one = variants["deploy.order=at-once"], variants["deploy.order=one-by-one"]
    assert (at_once["figures"]["rebalances"], one_by_one["figures"]["rebalances"]) == (1, 8)
    assert at_once["figures"]["group_stop_seconds"] > 5
    assert one_by_one["figures"]["group_stop_seconds"] == 0
    assert at_once["effort"] == one_by_one["effort"] == 2


def test_deploy_order_is_not_given(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings())
    options = ("--set", "group.instance.id=static", "--given", "deploy.order=at-once")
    code, output = run(str(tmp_path), "--group", GROUP, *options)
    assert code == 2
    assert "deploy.order is not a setting of the group" in output.replace("\n", " ")


def test_waiting_restarts_stay_complete_when_compressed() -> None:
    early = rolling()
    long = dataclasses.replace(early, end_ms=3_600_000)
    short = compress(reorder(long, "one-by-one"), Settings())
    assert short.end_ms < 300_000
    assert play(short, Settings(), seed=1).figures.rebalances == 8


def test_deploy_order_needs_deployment(tmp_path: Path) -> None:
    record(tmp_path, script([Event(25_000, "stop", "m1"), Event(28_000, "start", "m1")], end_ms=60_000), Settings())
    code, output = run(str(tmp_path), "--group", GROUP, "--set", "deploy.order=at-once")
    assert code == 2
    assert "no two members were restarted shortly after each other" in output.replace("\n", " ")


def test_suggestions_form_a_front(tmp_path: Path) -> None:
    record(tmp_path, rolling(), Settings())
    analysis = read_history(history_of(tmp_path), {GROUP})[GROUP]
    answer = ask(analysis, [{"group.instance.id": "static"}, {"max.poll.records": "100"}])
    assert answer.best_variants() == answer.variants
    variants = [dataclasses.replace(variant, effort=number) for number, variant in enumerate(answer.variants)]
    question = dataclasses.replace(answer.question, variants=variants, is_suggesting=True)
    suggested = dataclasses.replace(answer, question=question)
    assert [variant.name for variant in suggested.best_variants()] == ["as it was", "group.instance.id=static"]
