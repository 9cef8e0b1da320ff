"""The report: one file, whole, and safe whatever a group is called."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report import html
from kohort.pipeline.report.html import write_report
from kohort.pipeline.report.lists import MOST_ROWS
from kohort.pipeline.report.results import add_issues, findings
from kohort.pipeline.report.words import by_group, headline
from kohort.pipeline.sources.source_rows import GroupEvent
from tests.pipeline.gold_tables import write_gold

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
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src",), (tag, value)
            if name == "href" and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.add(value)
        if tag not in self.void and tag not in self.loose:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void and tag not in self.loose:
            assert self.open.pop() == tag


def test_the_report_of_the_recording(recorded_groups: dict[str, GroupInput], tmp_path: Path) -> None:
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
    assert "all of them waiting for client c-2" in text
    assert headline("one-slow-member", by_group(found)["one-slow-member"], None).startswith(
        "one-slow-member: 3 stops, 35."
    )
    json.dumps(found)


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    """A group and a client called like a tag, from events alone."""
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


def test_every_figure_has_a_word_on_how_sure_it_is(recorded_groups: dict[str, GroupInput], tmp_path: Path) -> None:
    gold = write_gold([recorded_groups["one-slow-member"]], tmp_path)
    text = write_report(gold, findings(gold), tmp_path / "report.html").read_text()
    evidence = "".join(re.findall(r'<dl class="(?:evidence|figures)">.*?</dl>', text, re.DOTALL))
    for name, figure in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", evidence):
        assert name == "rebalances" or '<small class="sure">' in figure, (name, figure)
    assert '<dt>without progress</dt><dd>35.5 s <small class="sure">at most</small>' in text
    assert '<dt>total wait</dt><dd>34.0 s <small class="sure">exact</small>' in text


def test_many_restless_groups_make_no_endless_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many groups with many generations, members and partitions: what has no room is said, not shown."""
    monkeypatch.setattr(html, "FULL_PAGES_CHARS", 1)
    monkeypatch.setattr(html, "MOST_PAGES_CHARS", 1_200_000)
    groups = [restless(f"group-{n:03}", 400) for n in range(5)]
    gold = write_gold(groups, tmp_path)
    text = write_report(gold, findings(gold), tmp_path / "report.html").read_text()
    assert len(text) < 1_500_000
    assert f"{MOST_ROWS} of 400 rebalances are shown" in text
    assert "of 90 clients are shown" in text
    assert "Partitions and members are not drawn" in text
    assert "more groups are in the tables only" in text
    page = _Wellformed()
    page.feed(text)
    assert all(link[1:] in page.ids for link in page.links)


def restless(name: str, times: int) -> GroupInput:
    """Ninety members, one of whom is thrown out and comes back again and again."""
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


def test_nothing_at_all(tmp_path: Path) -> None:
    assert "Nothing serious" in write_report(tmp_path, [], tmp_path / "report.html").read_text()
