"""The report in a browser: nothing sticks out, nothing is empty, light and dark, on a screen and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report.results import add_issues, findings
from tests.pipeline.gold_tables import write_gold, write_report
from tests.support.chromium_tab import Tab, tab

pytestmark = [
    pytest.mark.clients,  # slow, and a program of others
    pytest.mark.needs("chromium"),
    pytest.mark.timeout(900),
]
PHONE, SCREEN = 390, 1280
OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true);"


@pytest.fixture(scope="module")
def report(recorded_groups: dict[str, GroupInput], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    names = ("one-slow-member", "kip848-slow-revoker", "healthy-store", "crash-loop")
    gold = write_gold([recorded_groups[name] for name in names], folder / "gold")
    add_issues(gold, "", [("damaged_batch", "partition 7", "a checksum does not match")])
    return write_report(gold, findings(gold), folder / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with tab() as opened:
        yield opened


class Opened:
    """The report in a browser that has just opened it."""

    def __init__(self, browser: Tab, report: Path) -> None:
        self._browser, self._report = browser, report

    def ask(self, script: str, width: int, *, dark: bool = False) -> Any:
        """Return the result of a JavaScript function body, on a page of this width in pixels."""
        self._browser.open(self._report.as_uri(), width, dark=dark)
        return self._browser.ask(f"(() => {{{script}}})()")

    def picture(self, to: Path, width: int, height: int, *, dark: bool = False) -> None:
        """Return the upper part of the page as PNG."""
        self._browser.open(self._report.as_uri(), width, height, dark=dark)
        self._browser.picture(to)


@pytest.fixture
def page(browser: Tab, report: Path) -> Opened:
    return Opened(browser, report)


@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_nothing_sticks_out(page: Opened, width: int) -> None:
    response = page.ask(OPEN_ALL + "return [document.documentElement.scrollWidth, window.innerWidth]", width)
    assert response[1] == width
    assert response[0] <= width


def test_every_drawing_shows_something(page: Opened) -> None:
    sizes = page.ask(
        OPEN_ALL
        + """return [...document.querySelectorAll('svg')].map(each => {
            const box = each.getBBox()
            return [each.getAttribute('aria-label'), box.width, box.height, each.querySelectorAll('rect').length]
        })""",
        SCREEN,
    )
    assert len(sizes) >= 10
    for name, width, height, shapes in sizes:
        assert name
        assert width > 100, name
        assert height > 10, name
        assert shapes > 0, name


def test_page_is_complete_with_valid_links(page: Opened) -> None:
    headings, dead, unreachable = page.ask(
        OPEN_ALL
        + """
        const links = [...document.querySelectorAll('a[href^="#"]')]
        return [
            [...document.querySelectorAll('h2')].map(each => each.textContent),
            links.map(each => each.getAttribute('href')).filter(each => !document.getElementById(each.slice(1))),
            [...document.querySelectorAll('summary')].filter(each => each.tabIndex < 0).length,
        ]""",
        SCREEN,
    )
    assert headings == ["Summary", "Time", "Causes", "Groups", "Data quality", "How to read the numbers"]
    assert dead == []
    assert unreachable == 0


def test_link_opens_its_target(page: Opened) -> None:
    opened = page.ask(
        """
        document.querySelectorAll('details').forEach(each => each.open = false)
        const page = document.querySelectorAll('.head a')[1].hash
        location.hash = page
        const first = document.querySelector(page).closest('details').open
        const row = document.querySelector('dl.evidence a').hash
        location.hash = row
        const within = []
        for (let each = document.querySelector(row); each; each = each.parentElement)
            if (each.localName == 'details') within.push(each.open)
        return [first, within]""",
        SCREEN,
    )
    assert opened == [True, [True, True]]


def test_scrollable_areas_accept_keyboard_focus(page: Opened) -> None:
    scrolling = page.ask(
        OPEN_ALL
        + """return [...document.querySelectorAll('.chart, .scroll')]
            .filter(each => each.scrollWidth > each.clientWidth).map(each => each.tabIndex)""",
        PHONE,
    )
    assert len(scrolling) > 5
    assert set(scrolling) == {0}


def test_drawing_text_is_legible_on_phones(page: Opened) -> None:
    heights = page.ask(
        OPEN_ALL + "return [...document.querySelectorAll('svg text.label')].map(e => e.getBoundingClientRect().height)",
        PHONE,
    )
    assert min(heights) > 9


def test_colour_scheme_follows_reader(page: Opened) -> None:
    colours = {
        dark: page.ask("return getComputedStyle(document.body).backgroundColor", SCREEN, dark=dark)
        for dark in (False, True)
    }
    assert colours[False] == "rgb(255, 255, 255)"
    assert colours[True] == "rgb(20, 23, 26)"


@pytest.mark.parametrize("dark", [False, True])
def test_screenshot_is_not_empty(page: Opened, tmp_path: Path, dark: bool) -> None:
    page.picture(tmp_path / "report.png", SCREEN, 1_600, dark=dark)
    assert (tmp_path / "report.png").stat().st_size > 40_000, "an empty page takes 7 kB"
