"""A recorded conversation, read from its file: all of it, before anything is played."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of
from kohort.proxy.talk.bindings import made_up
from kohort.proxy.talk.id_names import replaced
from kohort.proxy.talk.recorded_apis import LEFT_OUT_ANSWER, NAME_BY_KAFKAS, recorded_answer
from kohort.proxy.talk.short_forms import lengthened
from kohort.proxy.talk.talk_fields import from_values
from kohort.proxy.talk.talk_lines import ANSWER, CONNECTS, FIRST_LINE, REQUEST, VERSION, TalkLine, read_line
from kohort.proxy.talk.talk_values import Value
from kohort.proxy.talk.talk_writer import LOST

_FIRST: Final = re.compile(r"# kohort talk ([0-9]{1,6})\s*")


class TalkError(ValueError):
    """A file that can't be played; the text is a sentence that names it, and the line."""


@dataclass
class Step:
    """A line, and what belongs to it."""

    line: TalkLine
    values: Value = field(default_factory=dict)
    """The fields of a request or an answer, with lists where the line has short forms."""
    answer: Step | None = None
    """What the request was answered; None: nothing."""
    request: Step | None = None
    """What an answer belongs to."""

    @property
    def api(self) -> str:
        """The name of a request's API in `api_keys.py`; empty: none that a conversation holds."""
        return NAME_BY_KAFKAS.get(self.line.api, "")

    @property
    def number(self) -> int:
        """The line's number."""
        return self.line.number


@dataclass
class Talk:
    """All of a recording."""

    name: str
    steps: list[Step]
    cut_off: str = ""
    """Why it ends where it does, if it was cut off."""

    @property
    def requests(self) -> list[Step]:
        """What is asked, in order."""
        return [step for step in self.steps if step.line.kind == REQUEST]


def read_talk(path: Path) -> Talk:
    """Raises TalkError. A last line that was cut off is left out."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise TalkError(f"{path} can't be read: {problem.strerror}") from None
    whole, end, rest = data.rpartition(b"\n")
    _check_first_line(path.name, data)
    lines = [_decoded(path.name, number, line) for number, line in enumerate((whole + end).split(b"\n"), 1)]
    talk = Talk(path.name, [], f"it was cut off in line {len(lines)}" if rest else "")
    _Reading(talk).read(lines)
    return talk


def _check_first_line(name: str, data: bytes) -> None:
    first = data.partition(b"\n")[0][:200].decode("utf-8", "replace")
    version = _FIRST.fullmatch(first)
    if version is None:
        raise TalkError(f"{name} is no recorded conversation: its first line is not `{FIRST_LINE}`")
    if int(version[1]) != VERSION:
        raise TalkError(f"{name} is a talk of version {version[1]}; this kohort plays version {VERSION}")


def _decoded(name: str, number: int, line: bytes) -> str:
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise TalkError(f"{name}:{number}: it isn't text in UTF-8") from None


class _Reading:
    """Puts answers to requests, line by line."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._waiting: dict[str, deque[Step]] = {}
        """Requests without an answer, by who asked them; for everybody who is connected."""

    def read(self, lines: Iterable[str]) -> None:
        """Raises TalkError."""
        for number, text in enumerate(lines, 1):
            if text.startswith(f"{LOST} "):
                self._talk.cut_off = f"lines were lost after line {number - 1}"
                return
            try:
                line = read_line(text, number)
                if line is not None:
                    self._take(Step(line))
            except (ValueError, RecursionError) as problem:
                raise TalkError(f"{self._talk.name}:{number}: {problem}") from None

    def _take(self, step: Step) -> None:
        line = step.line
        if line.kind == CONNECTS:
            if line.speaker in self._waiting:
                raise ValueError(f"{line.speaker} is connected already")
            self._waiting[line.speaker] = deque()
        elif line.speaker not in self._waiting:
            raise ValueError(f"{line.speaker} is not connected")
        elif line.kind == REQUEST:
            self._ask(step)
        elif line.kind == ANSWER:
            self._answer(step)
        else:
            del self._waiting[line.speaker]
        self._talk.steps.append(step)

    def _ask(self, step: Step) -> None:
        if not step.api:
            raise ValueError(f"no conversation holds {step.line.api}")
        api, version = API_BY_NAME[step.api], step.line.version
        if not max(api.min_version, api.readable_from) <= version <= api.max_version:
            raise ValueError(f"this kohort can't ask {step.line.api} v{version}")
        message = message_of(step.api)
        step.values = lengthened(message.request, step.line.values)
        request = from_values(message.request, _with_any_ids(step.values), step.line.api)
        try:
            message.write_request(version, 0, None, request)
        except Exception as problem:  # kio's own of many kinds, for numbers that are too large and texts too long
            raise ValueError(f"it makes no {step.line.api} v{version}: {problem!r}") from None
        self._waiting[step.line.speaker].append(step)

    def _answer(self, step: Step) -> None:
        waiting = self._waiting[step.line.speaker]
        if not waiting:
            raise ValueError("an answer that nobody has asked for")
        step.request = waiting.popleft()
        step.request.answer = step
        shape, _ = recorded_answer(step.request.api)
        step.values = lengthened(shape, step.line.values)
        if LEFT_OUT_ANSWER not in step.values:
            from_values(shape, _with_any_ids(step.values), step.request.line.api)


def _with_any_ids(values: Value) -> Value:
    """The values as a request might have them, for a look at whether they make one."""
    return replaced(values, lambda kind, value: made_up(kind) if str(value).startswith("$") else value)
