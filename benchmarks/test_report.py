"""Tests of the report."""

import io
import json

import pytest
from rich.console import Console

from benchmarks.bench import Figure, percentile
from benchmarks.failures import Failures
from benchmarks.measurements import MEASUREMENTS, chosen
from benchmarks.report import Result, as_json, number, right, rows, show


def results() -> list[Result]:
    values = ((1, 20_000.0), (2, 30_000.0), (3, 21_000.0))
    return [Result("heartbeat 64x1", n, [Figure("requests", "/s", value)]) for n, value in values]


def text_of(measured: list[Result]) -> str:
    out = io.StringIO()
    show(measured, Console(file=out, width=200))
    return out.getvalue()


def test_the_rounds_of_a_figure_are_put_together() -> None:
    assert rows(results()) == [("heartbeat 64x1", "requests", "/s", [20_000.0, 30_000.0, 21_000.0])]


def test_median_and_range_are_shown() -> None:
    line = next(line for line in text_of(results()).splitlines() if line.startswith("heartbeat"))
    assert " ".join(line.split()) == "heartbeat 64x1 requests 21 000 20 000 30 000 /s"


def test_a_failure_in_any_round_is_shown_and_counts() -> None:
    failures = Failures()
    failures.add_code("Heartbeat", 25)
    failures.add("wrong assignment", "g generation [3]")
    failed_results = [*results(), Result("heartbeat 64x1", 4, [], failures)]
    assert not right(failed_results)
    assert "heartbeat 64x1: 1 x Heartbeat answered unknown_member_id" in text_of(failed_results)
    assert "wrong assignment (g generation [3])" in text_of(failed_results)


def test_what_could_not_be_measured_is_no_success() -> None:
    failed_results = [Result("mixed", 1, [], error="the server did not start")]
    assert not right(failed_results)
    assert "mixed: not measured: the server did not start" in text_of(failed_results)


def test_all_is_kept_for_programs() -> None:
    kept = json.loads(as_json(results()))
    assert [entry["round"] for entry in kept["results"]] == [1, 2, 3]
    assert kept["results"][0]["figures"] == [{"title": "requests", "unit": "/s", "value": 20_000.0}]


def test_names_are_whole_or_first_words() -> None:
    assert chosen(()) == list(MEASUREMENTS)
    assert chosen(("rebalance 100", "heartbeat")) == [
        "heartbeat 64x1",
        "heartbeat 64x16",
        "heartbeat 1000x1",
        "rebalance 100",
    ]
    with pytest.raises(KeyError):
        chosen(("heartbeats",))


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.1234, "0.123"), (12.34, "12.3"), (1234567.8, "1 234 568")])
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_percentiles() -> None:
    assert percentile(range(1, 101), 0.99) == 99
    assert percentile(range(1, 101), 0.5) == 50
    assert percentile([], 0.5) == 0
