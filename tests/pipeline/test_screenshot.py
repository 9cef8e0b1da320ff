"""The report in a browser: nothing sticks out, nothing is empty, light and dark, on a screen and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report.results import add_issues, findings
from tests.pipeline.browser import DARK, LIGHT, ask, picture
from tests.pipeline.gold_tables import write_gold, write_report

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


@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_nothing_sticks_out(report: Path, width: int) -> None:
    found = ask(report, OPEN_ALL + "return [document.documentElement.scrollWidth, window.innerWidth]", width)
    assert found[1] == width
    assert found[0] <= width


def test_every_drawing_shows_something(report: Path) -> None:
    sizes = ask(
        report,
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


def test_everything_is_there_and_links_lead_somewhere(report: Path) -> None:
    headings, dead, unreachable = ask(
        report,
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
    assert headings == ["In short", "When", "Causes", "Groups", "Data quality", "How to read the numbers"]
    assert dead == []
    assert unreachable == 0


def test_a_link_opens_what_it_leads_to(report: Path) -> None:
    """From the headline to a group's page, and from a finding to the rebalance it rests on."""
    opened = ask(
        report,
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


def test_what_scrolls_can_be_reached_by_keyboard(report: Path) -> None:
    scrolling = ask(
        report,
        OPEN_ALL
        + """return [...document.querySelectorAll('.chart, .scroll')]
            .filter(each => each.scrollWidth > each.clientWidth).map(each => each.tabIndex)""",
        PHONE,
    )
    assert len(scrolling) > 5
    assert set(scrolling) == {0}


def test_text_in_drawings_is_legible_on_a_phone(report: Path) -> None:
    """A drawing is as wide as its writing needs, and scrolls."""
    heights = ask(
        report,
        OPEN_ALL + "return [...document.querySelectorAll('svg text.label')].map(e => e.getBoundingClientRect().height)",
        PHONE,
    )
    assert min(heights) > 9


def test_it_is_light_or_dark_as_the_reader_likes_it(report: Path) -> None:
    colours = {
        scheme: ask(report, "return getComputedStyle(document.body).backgroundColor", SCREEN, scheme)
        for scheme in (LIGHT, DARK)
    }
    assert colours[LIGHT] == "rgb(255, 255, 255)"
    assert colours[DARK] == "rgb(20, 23, 26)"


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_a_picture_of_it_is_not_empty(report: Path, tmp_path: Path, scheme: int) -> None:
    picture(report, tmp_path / "report.png", SCREEN, 1_600, scheme)
    assert (tmp_path / "report.png").stat().st_size > 40_000, "an empty page takes 7 kB"
