"""`kohort serve` reads usual command lines without click, and understands what click understands."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.cli.serve import serve
from kohort.cli.serve_options import OPTIONS, ServeOptions, read_at_a_glance


def by_click(words: list[str]) -> ServeOptions:
    return ServeOptions(**serve.make_context("serve", list(words)).params)


USUAL = (
    "",
    "--listen 127.0.0.1:0 --profile test --log-level warning",
    "--nodes 3 --listen :9092 --as-kafka 3.9",
    "--set group.initial.rebalance.delay.ms=0 --set a=b --config server.properties",
    "--log-level info --log-level error",
    "--control :0 --control-host a --control-host b",
)

FOR_CLICK = (
    "--help",
    "-h",
    "--listen",
    "--nodes 0",
    "--nodes two",
    "--nodes 1_0",
    "--profile fast",
    "--listem :1",
    "--listen --nodes 2",
    "--listen=:9092",
    "--restore-topics",
    "--restore-topics --restore-topics",
    "--restore-topics=yes",
    "--data-dir data",
    "--prof test",
    "-- --nodes 2",
    "more",
)


@pytest.mark.parametrize("line", USUAL)
def test_common_command_line(line: str) -> None:
    assert read_at_a_glance(line.split(), {}) == by_click(line.split())


@pytest.mark.parametrize("line", FOR_CLICK)
def test_unusual_options_are_left_to_click(line: str) -> None:
    assert read_at_a_glance(line.split(), {}) is None


def test_environment_is_left_to_click() -> None:
    assert read_at_a_glance([], {"KOHORT_CONTROL_TOKEN": "s3cret"}) is None
    assert read_at_a_glance([], {"KOHORT_CONTROL_TOKEN": ""}) == by_click([])


WORDS = st.sampled_from(
    [option.name for option in OPTIONS]
    + [value for option in OPTIONS for value in option.choices]
    + ["--listen=a", "", "-", "--", "-1", "2", "007", "٣", "a b", ":9092", "x=y"]
)


@given(st.lists(WORDS, max_size=6))
def test_quick_parser_equals_click(words: list[str]) -> None:
    read = read_at_a_glance(words, {})
    if read is not None:
        assert read == by_click(words)


def test_click_asks_for_all_fields() -> None:
    assert {param.name for param in serve.params} == set(ServeOptions._fields)
    assert all(isinstance(param, click.Option) for param in serve.params)
