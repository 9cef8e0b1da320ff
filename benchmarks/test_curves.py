"""Tests of the picture of curves."""

from __future__ import annotations

from pathlib import Path

from benchmarks.curve_picture import Curve, draw, read, write

CURVES = [
    Curve("groups of one member", "a heartbeat, µs", "plain Python", [(1_000, 9.5), (100_000, 9.9)], True),
    Curve("groups of one member", "a heartbeat, µs", "compiled", [(1_000, 6.5), (100_000, 6.6)], True),
    Curve("members of one group", "one leaves, ms", "plain Python", [(100, 6.1), (1_000, 59.3)], True),
]


def test_a_panel_for_each_cost_and_a_line_for_each_program(tmp_path: Path) -> None:
    draw(CURVES, tmp_path / "curves.svg")
    drawn = (tmp_path / "curves.svg").read_text()
    for svg in ("groups of one member", "a heartbeat, µs", "one leaves, ms", "plain Python", "compiled", "100,000"):
        assert f">{svg}<" in drawn, svg


def test_kept_values_make_the_same_picture_again(tmp_path: Path) -> None:
    write(CURVES, tmp_path / "curves.json")
    draw(CURVES, tmp_path / "first.svg")
    draw(read(tmp_path / "curves.json"), tmp_path / "again.svg")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
