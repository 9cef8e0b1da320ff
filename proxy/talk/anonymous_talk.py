"""A recording with other names, for `kohort replay --anonymize`.

Connections and ids are named after the new client ids and topics. Payloads are not in a recording anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kohort.base.replaced_names import (
    ASSIGNOR,
    CLIENT,
    GROUP,
    PATTERN,
    RACK,
    SUBTOPOLOGY,
    TAG,
    TOPIC,
    TYPE,
    ReplacedNames,
)
from kohort.proxy.talk.id_names import NAMED, Naming
from kohort.proxy.talk.payloads import rename_topics
from kohort.proxy.talk.recorded_apis import PAYLOADS
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
_TEXT: Final = "text"
# Coordinators are looked up for groups and for transactional ids, so both have one namespace.
CONTENT_OF_FIELDS: Final = {
    "group_id": GROUP, "groups_names": GROUP, "coordinator_keys": GROUP, "transactional_id": GROUP,
    ("coordinators", "key"): GROUP,
    "group_instance_id": CLIENT, "instance_id": CLIENT, "rack_id": RACK,
    "protocol_type": TYPE, "protocol_name": ASSIGNOR, "server_assignor": ASSIGNOR, ("protocols", "name"): ASSIGNOR,
    "name": TOPIC, "subscribed_topic_names": TOPIC, "source_topics": TOPIC, "repartition_sink_topics": TOPIC,
    "subscribed_topic_regex": PATTERN, "source_topic_regex": PATTERN,
    "subtopology_id": SUBTOPOLOGY, ("client_tags", "key"): TAG, ("client_tags", "value"): TAG,
    "reason": _TEXT, "status_detail": _TEXT,
}  # of texts, by field or by the list and its element's field  # fmt: skip


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
        values = _renamed(step.values, names)
        if step.request is not None and step.request.api == "metadata":
            _name_topics(values, naming)
        new_values = shortened(naming.named(values, speaker))
        yield Step(step.kind, speaker, step.words, new_values, at_ms=step.at_ms)


def _name_topics(values: Value, naming: Naming) -> None:
    for topic in values.get("topics", ()):
        if topic.get("topic_id") and topic.get("name"):
            naming.topic(topic["topic_id"], topic["name"])


def _renamed(values: Value, names: ReplacedNames, within: str = "", field: str = "") -> Value:
    """Return values with other names.

    Args:
        within: Field of the list that contains the structure.
        field: Field of the values.
    """
    if isinstance(values, dict):
        return {name: _renamed(value, names, field, name) for name, value in values.items()}
    if isinstance(values, list):
        return [_renamed(item, names, within, field) for item in values]
    if not isinstance(values, str) or field in NAMED or field == "error_code":
        return values
    if field in PAYLOADS:
        return rename_topics(values, names.of(TOPIC), names.of(RACK))
    if within == "topic_configs" or field == "left_out":
        return values
    content = CONTENT_OF_FIELDS.get((within, field)) or CONTENT_OF_FIELDS[field]
    return names.text(values) if content == _TEXT else names.replace(content, values)
