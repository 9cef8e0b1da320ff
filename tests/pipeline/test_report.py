"""The report: one file, whole, and safe whatever a group is called."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report import html
from kohort.pipeline.report.cards import card
from kohort.pipeline.report.figures import down
from kohort.pipeline.report.lists import MOST_ROWS
from kohort.pipeline.report.results import add_issues, findings
from kohort.pipeline.report.style import CSS
from kohort.pipeline.report.svg import Colours, name, sentence
from kohort.pipeline.report.words import by_group, first_thing, headline, period_of
from kohort.pipeline.sources.source_rows import GroupEvent
from tests.pipeline.gold_tables import write_gold, write_report
from tests.pipeline.report_rows import finding

EVIL = "<script>alert('x')</script>\"&"


class _Wellformed(HTMLParser):
    void = frozenset({"meta", "br", "line", "rect", "i", "img"})
    loose = frozenset({"p", "td", "th", "tr", "thead", "tbody", "li", "dd", "dt"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for attribute, value in attrs:
            assert not attribute.startswith("on"), (tag, attribute)
            assert attribute not in ("src",), (tag, value)
            if attribute == "href" and value:
                self.links.append(value)
            if attribute == "id" and value:
                self.ids.add(value)
        if tag not in self.void and tag not in self.loose:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void and tag not in self.loose:
            assert self.open.pop() == tag


def test_report_of_recording(recorded_groups: dict[str, GroupInput], tmp_path: Path) -> None:
    gold = write_gold(
        [recorded_groups[name] for name in ("one-slow-member", "kip848-slow-revoker", "healthy-store")], tmp_path
    )
    add_issues(gold, "", [("compacted_range", "p-1", f"holes {EVIL}")])
    found = findings(gold)
    text = write_report(gold, found, tmp_path / "report.html").read_text()
    page = _Wellformed()
    page.feed(text)
    assert page.open == []
    assert {"svg", "details", "table"} <= page.tags
    assert "script" not in page.tags
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "http" not in text.replace("http-equiv", "")
    assert "all waiting for client <bdi>c-2</bdi>" in text
    assert headline("one-slow-member", by_group(found)["one-slow-member"], None).startswith(
        "one-slow-member: 3 stops, 35."
    )
    json.dumps(found)


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    member = f"{EVIL}-71478f57-e382-43cf-81a9-3f338ceedade"
    happened: list[tuple[str, int, dict[str, Any]]] = [
        ("rebalance_started", 1000, {"generation": 0, "cause": "join_new"}),
        ("member_added", 1001, {"member_id": member, "client_id": EVIL}),
        ("join_completed", 4000, {"generation": 1, "members": 1}),
        ("assignment_received", 4010, {"generation": 1, "members": 1}),
        ("rebalance_started", 9000, {"generation": 1, "cause": "join_new", "member_id": "b", "client_id": "b"}),
        ("member_added", 9001, {"member_id": "b", "client_id": "b"}),
        ("barrier_evicted", 19_000, {"evicted": [member], "cause": "barrier_timeout"}),
        ("join_completed", 19_000, {"generation": 2, "members": 1}),
        ("assignment_received", 19_010, {"generation": 2, "members": 1}),
    ]
    events = [
        GroupEvent(kind=kind, ts=ts, seq=n, origin="text_log", **more) for n, (kind, ts, more) in enumerate(happened)
    ]
    gold = write_gold([GroupInput(EVIL, events=events, until_ms=20_000)], tmp_path)
    found = findings(gold)
    assert [(row["rule"], row["clients"]) for row in found if row["severity"] == "critical"] == [("R01", [EVIL])]
    text = write_report(gold, found, tmp_path / "report.html").read_text()
    page = _Wellformed()
    page.feed(text)
    assert "script" not in page.tags
    assert "&lt;script&gt;" in text


def test_every_figure_shows_its_certainty(recorded_groups: dict[str, GroupInput], tmp_path: Path) -> None:
    gold = write_gold([recorded_groups["one-slow-member"]], tmp_path)
    text = write_report(gold, findings(gold), tmp_path / "report.html").read_text()
    evidence = "".join(re.findall(r'<dl class="(?:evidence|figures)">.*?</dl>', text, re.DOTALL))
    for what, figure in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", evidence):
        assert what == "rebalances" or '<small class="sure">' in figure, (what, figure)
    assert '<dt>without progress</dt><dd>35.5 s <small class="sure">at most</small>' in text
    assert '<dt>total wait</dt><dd>34.0 s <small class="sure">exact</small>' in text


@pytest.mark.long
def test_many_restless_groups_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "FULL_PAGES_CHARS", 1)
    monkeypatch.setattr(html, "MOST_PAGES_CHARS", 1_200_000)
    write_copies(restless("g", 400), [f"group-{n:03}" for n in range(5)], tmp_path)
    text = write_report(tmp_path, findings(tmp_path), tmp_path / "report.html").read_text()
    assert len(text) < 1_500_000
    assert f"{MOST_ROWS} of 400 rebalances are shown" in text
    assert "of 90 clients are shown" in text
    assert "Partitions and members are not drawn" in text
    assert "more groups are in the tables only" in text
    page = _Wellformed()
    page.feed(text)
    assert all(link[1:] in page.ids for link in page.links)


@pytest.mark.long
def test_large_report_size_is_limited(tmp_path: Path) -> None:
    write_copies(restless("g", 10), [f"group-{n:04}" for n in range(5_000)], tmp_path)
    found = findings(tmp_path)
    assert len({row["group"] for row in found if row["severity"] != "info"}) == 5_000
    text = write_report(tmp_path, found, tmp_path / "report.html").read_bytes()
    assert 500_000 < len(text) < 3_000_000
    assert b"more groups are in the tables only" in text


NAMES = {"orders": "<bdi>orders</bdi>", "заказы-1": "<bdi>заказы-1</bdi>", "": "<i>(empty id)</i>"}


@pytest.mark.parametrize("group", NAMES)
def test_names_are_set_off(group: str) -> None:
    assert name(group) == NAMES[group]


def test_long_names_have_tooltips() -> None:
    long = "orders-" + 60 * "x" + "-y2k4q"
    shown = name(long)
    assert f'title="{long}"' in shown
    assert "…" in shown
    assert shown.endswith("xxx-y2k4q</bdi>")


def test_names_within_a_sentence() -> None:
    text = "the group waited for c-1, not for c-10 or <c>"
    assert sentence(text, ["c-1", "<c>"]) == (
        "the group waited for <bdi>c-1</bdi>, not for c-10 or <bdi>&lt;c&gt;</bdi>"
    )


def test_commands_within_a_sentence() -> None:
    text = "kohort reads `x`; `kohort what-if --group 'c-1`' --set a=<b>` computes the cost of c-1"
    assert sentence(text, ["c-1"]) == (
        "kohort reads `x`; <code>kohort what-if --group &#x27;c-1`&#x27; --set a=&lt;b&gt;</code> computes the cost of "
        "<bdi>c-1</bdi>"
    )
    assert sentence("`kohort what-if` computes the sum", []) == "<code>kohort what-if</code> computes the sum"


def card_of(**differs: Any) -> str:
    return card("g0", 0, finding(evidence={}, **differs), {}, set())


def test_client_id_spelling_is_kept() -> None:
    assert "<p><bdi>rdkafka@10.0.0.7</bdi> died.</p>" in card_of(
        text="rdkafka@10.0.0.7 died", clients=["rdkafka@10.0.0.7"]
    )
    assert "<p>The group waited.</p>" in card_of(text="the group waited")


def test_every_awaited_member_is_named() -> None:
    found = [
        finding(clients=["p-1"], evidence={"stops": 3, "without_progress_ms": 0, "eager": True}),
        finding(clients=["p-3"], evidence={"stops": 1, "without_progress_ms": 0, "eager": True}),
    ]
    assert headline("pricing", found, None) == (
        "pricing: 4 stops, 3 of them waiting for client p-1, 1 waiting for client p-3"
    )


def test_summary_names_end_and_first_step() -> None:
    grave, mild = finding(advice="Look at c-1. Then rest."), finding(severity="warning", end_ms=900_000)
    assert (
        period_of([grave, mild], 660_000)
        == "1970-01-01 00:00:00 to 1970-01-01 00:01:00 UTC, ended 10 min before the end of the data"
    )
    assert period_of([grave], 61_000) == "since 1970-01-01 00:00:00 UTC, ongoing at the end of the data"
    assert period_of([finding(evidence={"open": True})], 9_000_000).endswith("ongoing at the end of the data")
    assert first_thing([grave, mild]) == "Look at c-1."
    assert (period_of([], 0), first_thing([])) == ("", "")


def test_useless_bounds_are_omitted() -> None:
    assert down(None, 1.2, 499.4) == ("", "")
    assert down(None, 40.0, 90.0) == ("40.0 to 90.0", "between")


def test_many_members_have_distinct_colours() -> None:
    colours = Colours()
    assert len({colours.of(str(n)) for n in range(24)}) == 24
    assert len(set(re.findall(r"\.c\d+\{fill:[^;]+", CSS))) == 24


def restless(name: str, times: int) -> GroupInput:
    """Build ninety members, one of which is removed and returns again and again."""
    events: list[GroupEvent] = []
    for n in range(times):
        at, who = 1_000_000 + 20_000 * n, f"c-{n % 90}"
        member = f"{who}-71478f57-e382-43cf-81a9-{n:012}"
        happened: list[tuple[str, int, dict[str, Any]]] = [
            ("rebalance_started", 0, {"generation": n, "cause": "join_new", "member_id": member, "client_id": who}),
            ("member_added", 1, {"member_id": member, "client_id": who}),
            ("join_completed", 9_000, {"generation": n + 1, "members": 90}),
            ("assignment_received", 9_010, {"generation": n + 1, "members": 90}),
        ]
        for kind, offset, more in happened:
            events.append(GroupEvent(kind=kind, ts=at + offset, seq=len(events), origin="text_log", **more))
    return GroupInput(name, events=events, until_ms=1_000_000 + 20_000 * times)


def write_copies(group: GroupInput, names: list[str], folder: Path) -> None:
    """Write gold of groups that differ only in name, one of which is analyzed."""
    for table, rows in as_tables(group, analyse_group(group)).items():
        every = rows.take(np.tile(np.arange(len(rows)), len(names)))
        column = pa.array([name for name in names for _ in range(len(rows))])
        at = every.column_names.index("group_id")
        write_tables({table: [every.set_column(at, every.schema.field("group_id"), column)]}, folder)


def test_nothing_at_all(tmp_path: Path) -> None:
    assert "No groups found" in write_report(tmp_path, [], tmp_path / "report.html").read_text()
