"""Every incident that is played says what is to be told of it, and enough of them are of our own alone."""

from __future__ import annotations

import pytest

from tests.docs.incidents import played
from tests.pipeline.incidents import classic_stories, stories
from tests.pipeline.incidents.told import ALSO_RECORDED, OF_CLASSIC_GROUPS, SERIOUS
from tests.support.shared_folder import SHARED

EXPECTED = SHARED / "data" / "kafka-4.3" / "expected.md"


def test_every_story_is_told() -> None:
    assert played(classic_stories).keys() == OF_CLASSIC_GROUPS.keys()
    assert played(stories).keys() == SERIOUS.keys()


def test_fourteen_and_more_are_not_among_the_shared_scenarios() -> None:
    own = (OF_CLASSIC_GROUPS.keys() | SERIOUS.keys()) - ALSO_RECORDED.keys()
    assert len(own) >= 14


@pytest.mark.skipif(not EXPECTED.exists(), reason="the shared recording is not beside this checkout")
def test_the_shared_scenarios_that_are_named_exist() -> None:
    scenarios = {line[3:].strip() for line in EXPECTED.read_text().splitlines() if line.startswith("## ")}
    assert set(ALSO_RECORDED.values()) <= scenarios
