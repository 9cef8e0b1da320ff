"""Recorded requests and responses of Apache Kafka for every API in a conversation can be formatted and parsed again."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kohort.protocol.headers import read_header
from kohort.protocol.messages import message_of
from kohort.proxy.talk.recorded_apis import RECORDED, recorded_answer
from kohort.proxy.talk.short_forms import lengthened, shortened
from kohort.proxy.talk.talk_fields import from_values, to_values
from kohort.proxy.talk.talk_file import TalkError, read_talk
from kohort.proxy.talk.talk_values import read_values, show
from tests.proxy.talks import JOINS

GOLDEN = Path(__file__).parents[1] / "protocol" / "golden"

TRAVELLED = [name for name in RECORDED if (GOLDEN / f"{name}.jsonl").exists()]


def frames(name: str, direction: str) -> list[tuple[int, bytes]]:
    """Yield versions and frames of an API."""
    lines = map(json.loads, (GOLDEN / f"{name}.jsonl").read_text().splitlines())
    return [(line["version"], bytes.fromhex(line["hex"])) for line in lines if line["direction"] == direction]


def told_again(shape: type, value: Any) -> tuple[str, str]:
    """Return the text of a request or response, and the text after parsing it."""
    told = show(shortened(to_values(shape, value)))
    read = from_values(shape, lengthened(shape, read_values(told)), "it")
    return told, show(shortened(to_values(shape, read)))


@pytest.mark.parametrize("name", TRAVELLED)
def test_requests_are_told_and_made_again(name: str) -> None:
    message = message_of(name)
    for version, frame in frames(name, "request"):
        told, again = told_again(message.request, message.read(version, frame, read_header(frame).body_offset))
        assert told == again
        made = from_values(message.request, lengthened(message.request, read_values(told)), name)
        assert message.write_request(version, 1, "ada", made), "it can be sent"


@pytest.mark.parametrize("name", TRAVELLED)
def test_answers_are_told_and_read_again(name: str) -> None:
    shape, reduced = recorded_answer(name)
    for version, frame in frames(name, "response"):
        told, again = told_again(shape, reduced(message_of(name).read_response(version, frame)[1]))
        assert told == again


def sentence_about(path: Path) -> str:
    """Return why a file cannot be played, or an empty string."""
    try:
        read_talk(path)
    except TalkError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("seed", range(20))
def test_damaged_file_is_rejected_or_read(seed: int, tmp_path: Path) -> None:
    chance, path = Random(seed), tmp_path / "x.talk"
    for _ in range(20):
        data = bytearray(JOINS.encode())
        for _ in range(chance.choice((1, 3))):
            at, size = chance.randrange(len(data)), chance.choice((0, 1, 1, 20))
            data[at : at + size] = bytes(chance.choices(b'{}[]:,"$ 019azA\n\xff', k=chance.choice((0, 1, 5))))
        path.write_bytes(data)
        sentence = sentence_about(path)
        assert "\n" not in sentence
        assert not sentence or sentence.startswith("x.talk")
