"""All conversations, by release."""

from pathlib import Path

from kohort.protocol.releases import CURRENT
from tests.talk.script import Conversation, read_conversation

HERE = Path(__file__).parent.parent / "conversations"
NEWER = HERE / "kafka-4.4"


def _read(folder: Path) -> dict[str, Conversation]:
    return {
        str(path.relative_to(folder).with_suffix("")): read_conversation(path)
        for path in sorted(folder.rglob("*.talk"))
        if folder == NEWER or NEWER not in path.parents
    }


# By release, and by folder and name. A conversation in `kafka-4.4` replaces the one of the same name.
BY_RELEASE = {"4.3": (older := _read(HERE)), "4.4": older | _read(NEWER)}
FILES = BY_RELEASE[CURRENT]
