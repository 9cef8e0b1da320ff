"""Listener that writes a proxy's messages as lines of a conversation (`kohort.proxy.tap.Listener`)."""

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
from kohort.proxy.talk.talk_lines import ANSWER, CONNECTS, DISCONNECTS, FIRST_LINE, REQUEST, Step, shown_client
from kohort.proxy.talk.talk_values import Value

if TYPE_CHECKING:
    from kohort.proxy.tap import Line, ObservedCall

HEADER: Final = (
    FIRST_LINE,
    "#",
    "# A group conversation of `kohort proxy --record`, for `kohort replay` (docs/how-to/record-and-replay.md).",
    "# Ids have names here. Left out are payloads: records, user data, passwords.",
    "# Clients, groups and topics are called as they are.",
    "",
)  # first lines of a recording


class Recorder:
    """Writer of lines. It keeps the names of ids, and the speaker of each connection."""

    keys = frozenset(NAME_BY_KEY)

    def __init__(self, write: Callable[[str], None], now_us: Callable[[], int]) -> None:
        """Set up a recorder; `write` receives each line without its end."""
        self._write = write
        self._now_us = now_us
        self._start_us = now_us()
        self._naming = Naming()
        self._speakers: dict[int, str] = {}  # by connection number
        self._unread: set[ObservedCall] = set()  # pending requests that can't be recorded
        for line in HEADER:
            write(line)

    def on_request(self, observed: ObservedCall) -> None:
        header, number = observed.header, observed.line.number
        if number not in self._speakers:
            speaker = self._speakers[number] = self._naming.speaker(header.client_id)
            self._put(observed.requested_us, speaker, CONNECTS, {"client": shown_client(header.client_id)})
        name = NAME_BY_KEY[header.api_key]
        message = message_of(name)
        try:
            request = message.read(header.api_version, observed.request, header.body_offset)
        except DecodeError:
            self._unread.add(observed)
            self._note(observed, "can't be read here, and neither is its answer")
            return
        words = {"api": kafka_name(name), "version": str(header.api_version)}
        self._put(observed.requested_us, self._speakers[number], REQUEST, words, to_values(message.request, request))

    def on_response(self, observed: ObservedCall) -> None:
        if observed in self._unread:
            self._unread.discard(observed)
            return
        name = NAME_BY_KEY[observed.header.api_key]
        shape, reduced = recorded_answer(name)
        speaker, at_us = self._speakers[observed.line.number], observed.answered_us or self._now_us()
        answer = self._read(name, observed)
        if answer is None:
            self._put(at_us, speaker, ANSWER, values={LEFT_OUT_ANSWER: True})
            return
        topic_name = reduced(answer)
        if name == "metadata":
            for topic in topic_name.topics:
                if topic.topic_id is not None and topic.name is not None:
                    self._naming.topic(topic.topic_id, topic.name)
        self._put(at_us, speaker, ANSWER, values=to_values(shape, topic_name))

    def on_close(self, line: Line) -> None:
        self._unread = {request for request in self._unread if request.line is not line}
        speaker = self._speakers.pop(line.number, None)
        if speaker is not None:
            self._put(self._now_us(), speaker, DISCONNECTS)

    def _read(self, name: str, observed: ObservedCall) -> Any:
        """Return the response, or None if it is too large or unreadable."""
        if observed.answer is None:
            return None
        try:
            return message_of(name).read_answer(observed.header.api_version, observed.answer[INT.size :])[1]
        except DecodeError:
            return None

    def _put(
        self, at_us: int, speaker: str, kind: str, words: dict[str, str] | None = None, values: Value = None
    ) -> None:
        written_values = {} if values is None else shortened(self._naming.named(values, speaker))
        self._write(str(Step(kind, speaker, words or {}, written_values, at_ms=self._at_ms(at_us))))

    def _note(self, observed: ObservedCall, reason: str) -> None:
        api, version = kafka_name(NAME_BY_KEY[observed.header.api_key]), observed.header.api_version
        speaker = self._speakers[observed.line.number]
        self._write(f"# {self._at_ms(observed.requested_us)} ms  {speaker}: {api} v{version} {reason}")

    def _at_ms(self, at_us: int) -> int:
        return max(at_us - self._start_us, 0) // 1000
