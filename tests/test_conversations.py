"""Every conversation of tests/conversations, played with a broker in this process."""

from pathlib import Path

import pytest

from kohort.protocol.releases import CURRENT
from tests.support.effort import in_turn
from tests.support.lacking import need
from tests.talk.conversations import BY_RELEASE
from tests.talk.play import play

ALL = [(release, name) for release, files in BY_RELEASE.items() for name in files]
# Those that an older release answers in the same way are played in turn.
SAME = {(release, name) for release, name in ALL if BY_RELEASE[release][name] is BY_RELEASE[CURRENT][name]}


def _contains(case: tuple[str, str], *kinds: str) -> bool:
    release, name = case
    return BY_RELEASE[release][name].has(*kinds)


IN_MEMORY = [case for case in ALL if (case[0] == CURRENT or case not in SAME) and not _contains(case, "restarts")]
IN_MEMORY += in_turn(
    [case for case in ALL if case[0] != CURRENT and case in SAME and not _contains(case, "restarts")], 2
)
# Not those in which time matters: timers start again with the coordinator that takes over.
MOVABLE = [case for case in ALL if case[0] == CURRENT and not _contains(case, "restarts", "wait", "silence")]
ON_DISK = [case for case in ALL if _contains(case, "restarts")]
ON_DISK += in_turn([case for case in IN_MEMORY if case[0] == CURRENT], 1)


@pytest.mark.parametrize(("release", "name"), IN_MEMORY)
def test_conversation(release: str, name: str) -> None:
    _play(release, name)


@pytest.mark.parametrize(("release", "name"), ON_DISK)
def test_conversation_on_disk(release: str, name: str, tmp_path: Path) -> None:
    _play(release, name, tmp_path / "data")


@pytest.mark.parametrize(("release", "name"), in_turn(MOVABLE, 0))
def test_conversation_with_coordinators_that_move(release: str, name: str) -> None:
    _play(release, name, moving=True)


def _play(release: str, name: str, data_dir: Path | None = None, *, moving: bool = False) -> None:
    conversation = BY_RELEASE[release][name]
    if conversation.has_patterns:
        need("re2")
    differences = play(conversation, data_dir, moving=moving, release=release)
    if differences:
        pytest.fail(differences, pytrace=False)
