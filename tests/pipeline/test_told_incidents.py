"""Every played incident has expected findings, and enough incidents are ours alone."""

from __future__ import annotations

from pathlib import Path

from tests.docs.incidents import played
from tests.pipeline.incidents import classic_stories, stories
from tests.pipeline.incidents.told import ALSO_RECORDED, OF_CLASSIC_GROUPS, SERIOUS


def test_every_story_is_told() -> None:
    assert played(classic_stories).keys() == OF_CLASSIC_GROUPS.keys()
    assert played(stories).keys() == SERIOUS.keys()


def test_at_least_14_incidents_are_unrecorded() -> None:
    own = (OF_CLASSIC_GROUPS.keys() | SERIOUS.keys()) - ALSO_RECORDED.keys()
    assert len(own) >= 14


def test_named_scenarios_exist(recording: Path) -> None:
    expected = (recording / "expected.md").read_text()
    scenarios = {line[3:].strip() for line in expected.splitlines() if line.startswith("## ")}
    assert set(ALSO_RECORDED.values()) <= scenarios
