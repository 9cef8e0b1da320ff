"""The complete list of the coordinators' log messages, and what is read of each."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kohort.pipeline.sources.text_log import columns_of
from tests.pipeline.coordinator_messages import NO_EVENT, Message, messages

EVERY = list(messages())
WITH_EVENT = [message for message in EVERY if not message.event.startswith(NO_EVENT)]
WITHOUT = [message for message in EVERY if message.event.startswith(NO_EVENT)]
NUMBERS = ("generation", "members", "co_epoch", "rebalance_timeout_ms", "milliseconds", "detail.records")
LISTS = ("evicted", "waited_for")
MEMBER = "app-1-71478f57-e382-43cf-81a9-3f338ceedade"
VALUES = {
    "group_id": "orders",
    "member_id": MEMBER,
    "instance_id": "desk-1",
    "offsets_partition": "__consumer_offsets-3",
    "detail.old_member_id": "app-1-00000000-e382-43cf-81a9-3f338ceedade",
    "detail.speaks": "consumer",
    "detail.reason": "the member session expired",
    "protocol": "uniform",
    "state_from": "Stable",
}


def value_of(name: str) -> str:
    if name in NUMBERS:
        return str(7 + NUMBERS.index(name))
    return f"[{MEMBER}, b]" if name in LISTS else VALUES.get(name, "words" if name else "5")


def filled(message: Message) -> str:
    return re.sub(r"\{([\w.]*)\}", lambda match: value_of(match[1]), message.text)


def read_value(columns: dict[str, Any], name: str) -> object:
    if name == "milliseconds":
        return str(columns["duration_us"] // 1000)
    if name == "offsets_partition":
        return f"__consumer_offsets-{columns['co_partition']}"
    if name.startswith("detail."):
        return columns["detail"][name.removeprefix("detail.")]
    return f"[{', '.join(columns[name])}]" if name in LISTS else str(columns[name])


@pytest.mark.parametrize("message", WITH_EVENT, ids=lambda message: message.text[:60])
def test_message_with_event(message: Message) -> None:
    columns = columns_of(filled(message))
    assert columns is not None
    assert columns["kind"] == message.event
    names = [name for name in re.findall(r"\{([\w.]*)\}", message.text) if name]
    assert {name: read_value(columns, name) for name in names} == {name: value_of(name) for name in names}


def test_messages_without_event() -> None:
    assert [message.text for message in WITHOUT if columns_of(filled(message)) is not None] == []


def test_messages_have_reasons_and_releases() -> None:
    assert all(message.event != f"{NO_EVENT}:" for message in WITHOUT)
    assert {release for message in EVERY for release in message.releases} == {"4.3", "4.4"}
    assert len(EVERY) > 200


@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
def test_lines_name_group_type(kind: str) -> None:
    of_type = [m for m in WITH_EVENT if f"the {kind} group" in m.text and m.event in ("member_added", "member_removed")]
    types = {message.text: (columns_of(filled(message)) or {}).get("group_type") for message in of_type}
    assert types == dict.fromkeys(types, kind)
    assert len(types) >= 2
