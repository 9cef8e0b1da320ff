"""Recorded conversation: validated as a whole before the replay, then streamed from its file."""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of
from kohort.proxy.talk.bindings import made_up
from kohort.proxy.talk.id_names import replaced
from kohort.proxy.talk.recorded_apis import LEFT_OUT_ANSWER, recorded_answer
from kohort.proxy.talk.renaming import rename_groups
from kohort.proxy.talk.short_forms import lengthened
from kohort.proxy.talk.talk_fields import from_values
from kohort.proxy.talk.talk_lines import ANSWER, CONNECTS, FIRST_LINE, REQUEST, VERSION, Step, read_line
from kohort.proxy.talk.talk_values import Value
from kohort.proxy.talk.talk_writer import LOST

_FIRST: Final = re.compile(r"# kohort talk ([0-9]{1,6})\s*")


MAX_LINE_BYTES: Final = 64 << 20


class TalkError(ValueError):
    """File that can't be replayed; the text is a sentence with its name and the line."""


@dataclass
class Talk:
    """Recording that was validated as a whole and is read from its file again whenever it is iterated."""

    path: Path
    cut_off: str = ""  # why it is incomplete, if it is
    answer_offsets: array[int] = field(default_factory=lambda: array("q"))
    """Position in the file of each request's response, -1 without one. Nothing else is kept in memory."""
    rename: str = ""  # suffix for groups and transactional ids

    @property
    def name(self) -> str:
        """Name of the file for messages."""
        return self.path.name

    @property
    def steps(self) -> Iterator[Step]:
        """All steps in order. A request has its response, which comes later in the file."""
        return _Reading(self, validates=False).read()

    @property
    def requests(self) -> Iterator[Step]:
        """All requests in order."""
        return (step for step in self.steps if step.kind == REQUEST)


def read_talk(path: Path) -> Talk:
    """Validate a recording. Raise TalkError if it is invalid. An incomplete last line is left out."""
    talk = Talk(path)
    for _ in _Reading(talk, validates=True).read():
        pass
    return talk


def _check_first_line(name: str, line: bytes) -> None:
    first = line.rstrip(b"\n")[:200].decode("utf-8", "replace")
    version = _FIRST.fullmatch(first)
    if version is None:
        raise TalkError(f"{name} is not a recorded conversation: its first line must be `{FIRST_LINE}`")
    if int(version[1]) != VERSION:
        raise TalkError(f"{name} is a talk of version {version[1]}; this kohort plays version {VERSION}")


def _decoded(name: str, number: int, line: bytes) -> str:
    try:
        return line.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise TalkError(f"{name}:{number}: not valid UTF-8") from None


class _Reading:
    """One pass through a file, which matches responses with requests.

    The first pass validates each line and notes the positions of responses; later ones rely on both.
    """

    def __init__(self, talk: Talk, *, validates: bool) -> None:
        self._talk = talk
        self._validates = validates
        self._requests = 0  # read so far
        self._waiting: dict[str, deque[tuple[int, Step]]] = {}
        """Requests without a response and their ordinals, by speaker, for all connected speakers."""

    def read(self) -> Iterator[Step]:
        talk = self._talk
        try:
            with talk.path.open("rb") as file, talk.path.open("rb") as answers:
                number = offset = 0
                while line := file.readline(MAX_LINE_BYTES):
                    number += 1
                    if number == 1:
                        _check_first_line(talk.name, line)
                    if not line.endswith(b"\n"):
                        if len(line) == MAX_LINE_BYTES:
                            raise TalkError(f"{talk.name}:{number}: the line has more than {MAX_LINE_BYTES} bytes")
                        talk.cut_off = f"it was cut off in line {number}"
                        return
                    text = _decoded(talk.name, number, line)
                    if text.startswith(f"{LOST} "):
                        talk.cut_off = f"lines were lost after line {number - 1}"
                        return
                    step = self._step(text, number, offset, answers)
                    if step is not None:
                        yield step
                    offset += len(line)
                if not number:
                    _check_first_line(talk.name, b"")
        except OSError as problem:
            raise TalkError(f"{talk.path} can't be read: {problem.strerror}") from None

    def _step(self, text: str, number: int, offset: int, answers: BinaryIO) -> Step | None:
        try:
            step = read_line(text, number)
            if step is None:
                return None
            self._take(step, offset, answers)
        except (ValueError, RecursionError) as problem:
            raise TalkError(f"{self._talk.name}:{number}: {problem}") from None
        if self._talk.rename:
            step.values = rename_groups(step.values, self._talk.rename)
        return step

    def _take(self, step: Step, offset: int, answers: BinaryIO) -> None:
        if step.kind == CONNECTS:
            if step.speaker in self._waiting:
                raise ValueError(f"{step.speaker} is connected already")
            self._waiting[step.speaker] = deque()
        elif step.speaker not in self._waiting:
            raise ValueError(f"{step.speaker} is not connected")
        elif step.kind == REQUEST:
            self._ask(step, answers)
        elif step.kind == ANSWER:
            self._answer(step, offset)
        else:
            del self._waiting[step.speaker]

    def _ask(self, step: Step, answers: BinaryIO) -> None:
        if not step.api:
            raise ValueError(f"{step.kafka_name} is not part of conversations")
        step.values = lengthened(message_of(step.api).request, step.values)
        if self._validates:
            _validate_request(step)
            self._talk.answer_offsets.append(-1)
        elif (offset := self._talk.answer_offsets[self._requests]) >= 0:
            step.answer = self._answer_at(offset, step, answers)
        self._waiting[step.speaker].append((self._requests, step))
        self._requests += 1

    def _answer_at(self, offset: int, request: Step, answers: BinaryIO) -> Step:
        answers.seek(offset)
        answer = read_line(answers.readline().decode().rstrip("\r\n"), 0)
        assert answer is not None, "an answer was here in the first pass"
        answer.values = lengthened(recorded_answer(request.api)[0], answer.values)
        if self._talk.rename:
            answer.values = rename_groups(answer.values, self._talk.rename)
        return answer

    def _answer(self, step: Step, offset: int) -> None:
        waiting = self._waiting[step.speaker]
        if not waiting:
            raise ValueError("a response without a request")
        ordinal, step.request = waiting.popleft()
        shape, _ = recorded_answer(step.request.api)
        step.values = lengthened(shape, step.values)
        if self._validates:
            self._talk.answer_offsets[ordinal] = offset
            if LEFT_OUT_ANSWER not in step.values:
                from_values(shape, _with_any_ids(step.values), step.request.kafka_name)


def _validate_request(step: Step) -> None:
    api, version = API_BY_NAME[step.api], step.version
    if not max(api.min_version, api.readable_from) <= version <= api.max_version:
        raise ValueError(f"this kohort does not support {step.kafka_name} v{version}")
    message = message_of(step.api)
    request = from_values(message.request, _with_any_ids(step.values), step.kafka_name)
    try:
        message.write_request(version, 0, None, request)
    except Exception as problem:  # kio raises many kinds for numbers that are too large and texts too long
        raise ValueError(f"invalid {step.kafka_name} v{version}: {problem!r}") from None


def _with_any_ids(values: Value) -> Value:
    """Return the values as in a possible request, to validate them."""
    return replaced(values, lambda kind, value: made_up(kind) if str(value).startswith("$") else value)
