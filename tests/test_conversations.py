"""Every conversation of tests/conversations, played with a broker in this process."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.effort import in_turn
from tests.support.lacking import lacks
from tests.talk.conversations import FILES
from tests.talk.play import play
from tests.talk.script import Conversation

MOVABLE = [name for name, each in FILES.items() if not each.has("restarts", "wait", "silence")]
"""Not those where time matters: timers begin anew with the coordinator that takes over."""
IN_MEMORY = [name for name, each in FILES.items() if not each.has("restarts")]
ON_DISK = [name for name in FILES if name not in IN_MEMORY] + in_turn(IN_MEMORY, 1)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_conversation(name: str) -> None:
    _play(FILES[name])


@pytest.mark.parametrize("name", ON_DISK)
def test_conversation_on_disk(name: str, tmp_path: Path) -> None:
    _play(FILES[name], tmp_path / "data")


@pytest.mark.parametrize("name", in_turn(MOVABLE, 0))
def test_conversation_with_coordinators_that_move(name: str) -> None:
    _play(FILES[name], moving=True)


def _play(conversation: Conversation, data_dir: Path | None = None, *, moving: bool = False) -> None:
    if find_spec("re2") is None and any("regex" in line for line in conversation.lines):
        lacks("re2")
    told = play(conversation, data_dir, moving=moving)
    if told:
        pytest.fail(told, pytrace=False)
