"""Every conversation of tests/conversations, played with a broker in this process."""

from pathlib import Path

import pytest

from tests.talk.play import play
from tests.talk.script import read_conversation

HERE = Path(__file__).parent / "conversations"
FILES = sorted(HERE.rglob("*.talk"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HERE).with_suffix("")))
def test_conversation(path: Path) -> None:
    told = play(read_conversation(path))
    if told:
        pytest.fail(told, pytrace=False)
