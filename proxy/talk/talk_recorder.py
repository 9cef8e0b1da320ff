"""Listens to what a proxy passes on, and makes the lines of a conversation of it (`kohort.proxy.tap.Listener`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kohort.control.request_facts import kafka_name
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT
from kohort.proxy.talk.id_names import Naming
from kohort.proxy.talk.recorded_apis import LEFT_OUT_ANSWER, NAME_BY_KEY, recorded_answer
from kohort.proxy.talk.short_forms import shortened
from kohort.proxy.talk.talk_fields import to_values
from kohort.proxy.talk.talk_lines import ANSWER, CONNECTS, DISCONNECTS, FIRST_LINE, REQUEST, TalkLine
from kohort.proxy.talk.talk_values import Value

if TYPE_CHECKING:
    from kohort.proxy.tap import Line, Overheard

HEADER: Final = (
    FIRST_LINE,
    "#",
    "# A group conversation, written by `kohort proxy --record`; `kohort replay` plays it again (docs/proxy.md).",
    "# Ids have names here. Left out are payloads: records, user data, passwords.",
    "# Clients, groups and topics are called as they are.",
    "",
)
"""What a recording begins with."""


class Recorder:
    """Makes lines as things are said. It keeps names of ids, and for each connection who speaks there."""

    keys = frozenset(NAME_BY_KEY)

    def __init__(self, write: Callable[[str], None], now_us: Callable[[], int]) -> None:
        """`write` takes a line, without its end. `now_us`: monotonic."""
        self._write = write
        self._now_us = now_us
        self._start_us = now_us()
        self._naming = Naming()
        self._speakers: dict[int, str] = {}
        """By the numbers of connections."""
        self._unread: set[Overheard] = set()
        """Requests that wait for an answer, and can't be recorded."""
        for line in HEADER:
            write(line)

    def asked(self, overheard: Overheard) -> None:
        """See `Listener`."""
        header, number = overheard.header, overheard.line.number
        if number not in self._speakers:
            speaker = self._speakers[number] = self._naming.speaker(header.client_id)
            self._put(overheard.asked_us, speaker, CONNECTS, client_id=header.client_id)
        name = NAME_BY_KEY[header.api_key]
        message = message_of(name)
        try:
            request = message.read(header.api_version, overheard.request, header.body_offset)
        except DecodeError:
            self._unread.add(overheard)
            self._note(overheard, "can't be read here, and neither is its answer")
            return
        values = to_values(message.request, request)
        self._put(overheard.asked_us, self._speakers[number], REQUEST, overheard, values)

    def answered(self, overheard: Overheard) -> None:
        """See `Listener`."""
        if overheard in self._unread:
            self._unread.discard(overheard)
            return
        name = NAME_BY_KEY[overheard.header.api_key]
        shape, reduced = recorded_answer(name)
        speaker, at_us = self._speakers[overheard.line.number], overheard.answered_us or self._now_us()
        answer = self._read(name, overheard)
        if answer is None:
            self._put(at_us, speaker, ANSWER, values={LEFT_OUT_ANSWER: True})
            return
        known = reduced(answer)
        if name == "metadata":
            for topic in known.topics:
                if topic.topic_id is not None and topic.name is not None:
                    self._naming.topic(topic.topic_id, topic.name)
        self._put(at_us, speaker, ANSWER, values=to_values(shape, known))

    def hung_up(self, line: Line) -> None:
        """See `Listener`."""
        self._unread = {each for each in self._unread if each.line is not line}
        speaker = self._speakers.pop(line.number, None)
        if speaker is not None:
            self._put(self._now_us(), speaker, DISCONNECTS)

    def _read(self, name: str, overheard: Overheard) -> Any:
        """The answer; None: it is too large, or can't be read."""
        if overheard.answer is None:
            return None
        try:
            return message_of(name).read_answer(overheard.header.api_version, overheard.answer[INT.size :])[1]
        except DecodeError:
            return None

    def _put(
        self,
        at_us: int,
        speaker: str,
        kind: str,
        asked: Overheard | None = None,
        values: Value = None,
        client_id: str | None = None,
    ) -> None:
        line = TalkLine(self._at_ms(at_us), speaker, kind, client_id=client_id)
        if asked is not None:
            line.api, line.version = kafka_name(NAME_BY_KEY[asked.header.api_key]), asked.header.api_version
        if values is not None:
            line.values = shortened(self._naming.named(values, speaker))
        self._write(str(line))

    def _note(self, overheard: Overheard, why: str) -> None:
        api, version = kafka_name(NAME_BY_KEY[overheard.header.api_key]), overheard.header.api_version
        speaker = self._speakers[overheard.line.number]
        self._write(f"# {self._at_ms(overheard.asked_us)} ms  {speaker}: {api} v{version} {why}")

    def _at_ms(self, at_us: int) -> int:
        return max(at_us - self._start_us, 0) // 1000
