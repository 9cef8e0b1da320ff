"""Every conversation of tests/conversations, played with a broker in this process."""

from pathlib import Path

import pytest

from tests.talk.conversations import FILES
from tests.talk.play import play
from tests.talk.script import Conversation


def those_without(*kinds: str) -> pytest.MarkDecorator:
    """The conversations that have no such step."""
    return pytest.mark.parametrize("name", [name for name, each in FILES.items() if not each.has(*kinds)])


@those_without("restarts")
def test_conversation(name: str) -> None:
    _play(FILES[name])


@those_without()
def test_conversation_on_disk(name: str, tmp_path: Path) -> None:
    _play(FILES[name], tmp_path / "data")


@those_without("restarts", "wait", "silence")
def test_conversation_with_coordinators_that_move(name: str) -> None:
    """Not where time matters: timers begin anew with the coordinator that takes over."""
    _play(FILES[name], moving=True)


def _play(conversation: Conversation, data_dir: Path | None = None, *, moving: bool = False) -> None:
    told = play(conversation, data_dir, moving=moving)
    if told:
        pytest.fail(told, pytrace=False)
