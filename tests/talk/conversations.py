"""All conversations there are."""

from pathlib import Path

from tests.talk.script import read_conversation

HERE = Path(__file__).parent.parent / "conversations"
# by folder and name
FILES = {str(path.relative_to(HERE).with_suffix("")): read_conversation(path) for path in sorted(HERE.rglob("*.talk"))}
