"""Other names in a conversation: the content of each field with a name, and a walk that replaces these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from kohort.base.replaced_names import ASSIGNOR, CLIENT, GROUP, PATTERN, RACK, SUBTOPOLOGY, TAG, TOPIC, TYPE
from kohort.proxy.talk.id_names import NAMED
from kohort.proxy.talk.payloads import rename_topics
from kohort.proxy.talk.recorded_apis import PAYLOADS
from kohort.proxy.talk.talk_values import Value

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


def rename(
    values: Value,
    replace: Callable[[str, str], str],
    replace_text: Callable[[str], str],
    within: str = "",
    field: str = "",
) -> Value:
    """Return values with other names.

    Args:
        replace: Returns the new name for a content, such as GROUP, and a name.
        replace_text: Returns the replacement of a free text.
        within: Field of the list that contains the structure.
        field: Field of the values.
    """
    if isinstance(values, dict):
        return {name: rename(value, replace, replace_text, field, name) for name, value in values.items()}
    if isinstance(values, list):
        return [rename(item, replace, replace_text, within, field) for item in values]
    if not isinstance(values, str) or field in NAMED or field == "error_code":
        return values
    if field in PAYLOADS:
        return rename_topics(values, partial(replace, TOPIC), partial(replace, RACK))
    if within == "topic_configs" or field == "left_out":
        return values
    content = CONTENT_OF_FIELDS.get((within, field)) or CONTENT_OF_FIELDS[field]
    return replace_text(values) if content == _TEXT else replace(content, values)


def rename_groups(values: Value, suffix: str) -> Value:
    """Return the values with a suffix appended to names of groups and transactional ids."""
    return rename(values, lambda content, name: name + suffix if content == GROUP and name else name, lambda text: text)
