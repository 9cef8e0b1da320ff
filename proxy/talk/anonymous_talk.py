"""A recording with other names, for `kohort replay --anonymize`.

Connections and ids are named after the new client ids and topics. Payloads are not in a recording anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kohort.base.replaced_names import CLIENT, ReplacedNames
from kohort.proxy.talk.id_names import Naming
from kohort.proxy.talk.renaming import rename
from kohort.proxy.talk.short_forms import shortened
from kohort.proxy.talk.talk_file import Talk
from kohort.proxy.talk.talk_lines import CONNECTS, FIRST_LINE, Step, shown_client
from kohort.proxy.talk.talk_values import Value

_HEADER: Final = (
    FIRST_LINE,
    "#",
    "# A group conversation of `kohort replay --anonymize`, for `kohort replay` (docs/how-to/record-and-replay.md).",
    "# Names and ids were replaced. Left out are payloads: records, user data, passwords.",
    "",
)


def anonymize_talk(talk: Talk, path: Path) -> None:
    """Write a recording with other names to a new file.

    Raises:
        OSError: The file exists or cannot be written.
        TalkError: The recording was changed since it was read.
    """
    names = ReplacedNames()
    for _ in _lines(talk, names):
        pass
    names.number()
    with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
        for line in (*_HEADER, *map(str, _lines(talk, names))):
            file.write(f"{line}\n")


def _lines(talk: Talk, names: ReplacedNames) -> Iterator[Step]:
    naming = Naming()
    speakers: dict[str, str] = {}
    for step in talk.steps:
        if step.kind == CONNECTS:
            client_id = None if step.client_id is None else names.replace(CLIENT, step.client_id)
            speakers[step.speaker] = speaker = naming.speaker(client_id)
            yield Step(CONNECTS, speaker, {"client": shown_client(client_id)}, at_ms=step.at_ms)
            continue
        speaker = speakers[step.speaker]
        values = rename(step.values, names.replace, names.text)
        if step.request is not None and step.request.api == "metadata":
            _name_topics(values, naming)
        new_values = shortened(naming.named(values, speaker))
        yield Step(step.kind, speaker, step.words, new_values, at_ms=step.at_ms)


def _name_topics(values: Value, naming: Naming) -> None:
    for topic in values.get("topics", ()):
        if topic.get("topic_id") and topic.get("name"):
            naming.topic(topic["topic_id"], topic["name"])
