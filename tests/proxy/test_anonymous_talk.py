"""Recordings with other names: the same conversation, and none of the original names."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.replay import replay
from kohort.protocol.messages import message_of
from kohort.proxy.talk.anonymous_talk import anonymize_talk
from kohort.proxy.talk.id_names import NAMED
from kohort.proxy.talk.recorded_apis import PAYLOADS, RECORDED, recorded_answer
from kohort.proxy.talk.renaming import CONTENT_OF_FIELDS
from kohort.proxy.talk.talk_fields import fields_of
from kohort.proxy.talk.talk_file import read_talk
from kohort.testing.replaying import play_here
from tests.proxy.talks import BEATS, JOINS

SIX_CLIENTS = Path(__file__).parent / "six_clients.talk"
NAMES = {"ada", "bob", "eve", "setup", "shop", "invoicing", "payments", "billing", "orders"}


def _played(path: Path) -> str:
    return str(asyncio.run(play_here(read_talk(path), {}, None, lambda _: None)))


@pytest.mark.parametrize("talk", [JOINS, BEATS, SIX_CLIENTS.read_text()], ids=["joins", "beats", "six-clients"])
def test_anonymous_talk_is_replayed_alike(talk: str, tmp_path: Path) -> None:
    original, anonymous = tmp_path / "original.talk", tmp_path / "anonymous.talk"
    original.write_text(talk)
    anonymize_talk(read_talk(original), anonymous)
    assert _played(anonymous) == _played(original)
    words = set(re.findall(r"[A-Za-z]+", "\n".join(anonymous.read_text().splitlines()[5:])))
    assert set(re.findall(r"[A-Za-z]+", talk)) & NAMES
    assert words & NAMES == set()


def test_texts_of_all_requests_have_content() -> None:
    for api in RECORDED:
        for shape in (message_of(api).request, recorded_answer(api)[0]):
            for within, field in _texts_of(shape):
                is_id_or_payload = field in NAMED or field in PAYLOADS or within == "topic_configs"
                assert is_id_or_payload or field in CONTENT_OF_FIELDS or (within, field) in CONTENT_OF_FIELDS, (
                    api,
                    within,
                    field,
                )


def _texts_of(shape: type, within: str = "") -> Iterator[tuple[str, str]]:
    for field in fields_of(shape):
        if is_dataclass(field.kind):
            kind: type = field.kind  # type: ignore[assignment]
            yield from _texts_of(kind, field.name)
        elif field.kind is str:
            yield within, field.name


def test_reason_keeps_known_words_only(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    path.write_text(
        JOINS.replace("protocol_type: consumer", 'protocol_type: consumer, reason: "need to rejoin, due to acme"', 1)
    )
    assert "due to acme" in path.read_text()
    anonymize_talk(read_talk(path), tmp_path / "anonymous.talk")
    assert 'reason: "need to rejoin, due to …"' in (tmp_path / "anonymous.talk").read_text()


def test_command_rejects_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    path.write_text(JOINS)
    outcome = CliRunner().invoke(replay, [str(path), "--anonymize", str(path)])
    assert (outcome.exit_code, path.read_text()) == (2, JOINS)
    assert outcome.output == f"kohort: {path} already exists; name another file, or delete it\n"


def test_command_rejects_playing_options(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    path.write_text(JOINS)
    outcome = CliRunner().invoke(replay, [str(path), "--speed", "2", "--anonymize", str(tmp_path / "y.talk")])
    assert outcome.exit_code == 2
    assert outcome.output.startswith("kohort: --anonymize plays nothing")
