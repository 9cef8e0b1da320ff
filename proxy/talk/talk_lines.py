"""Lines of a recorded conversation: time, speaker and content. `1234 ms  ada Heartbeat v4 {group_id: billing, …}`.

A speaker is a connection; `ada/2` is the second one of a client. A response (`ada <- NONE {…}`) belongs to the oldest
request of that connection without a response. Conversations of tests have no times and more steps (`tests/talk`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kohort.proxy.talk.talk_values import Value, read_values, show

VERSION: Final = 1
FIRST_LINE: Final = f"# kohort talk {VERSION}"

CONNECTS, DISCONNECTS, REQUEST, ANSWER = "connects", "disconnects", "request", "answer"

NULL_CLIENT: Final = "nobody"  # text of a null client id

# parts of lines
SPEAKER: Final = r"(?P<speaker>[a-z][a-z0-9]*(?:/[0-9]+)?)"
API: Final = r"(?P<api>[A-Z][A-Za-z]+) v(?P<version>[0-9]{1,4})"
ERROR: Final = r"(?P<error>[A-Z][A-Z_]+)"
VALUES: Final = r"(?P<values>\{.*\})"

_TIMED: Final = re.compile(rf" *(?P<at_ms>[0-9]{{1,12}}) ms +(?P<step>{SPEAKER} .*)")

Forms = Mapping[str, re.Pattern[str]]
"""Steps of a conversation by their kind; `values` are in braces, and all other groups are words."""

RECORDED_FORMS: Final[Forms] = {
    CONNECTS: re.compile(rf"{SPEAKER} +connects as (?P<client>.+)"),
    DISCONNECTS: re.compile(rf"{SPEAKER} +disconnects"),
    ANSWER: re.compile(rf"{SPEAKER} +<-(?: {ERROR})?(?: {VALUES})?"),
    REQUEST: re.compile(rf"{SPEAKER} +{API}(?: {VALUES})?"),
}


class StepText(NamedTuple):
    """Parts of a step."""

    kind: str
    words: dict[str, str]
    values: dict[str, Value]


def read_step(text: str, forms: Forms) -> StepText:
    """Return the parts of a step. Raise ValueError if it has none of the forms, or if its values are malformed."""
    for kind, form in forms.items():
        match = form.fullmatch(text)
        if match is not None:
            words = {name: word for name, word in match.groupdict().items() if word is not None}
            return StepText(kind, words, read_values(words.pop("values", "{}")))
    raise ValueError(f"cannot follow {text[:60]!r}")


def read_client(text: str) -> str | None:
    """Return the client id in a line."""
    return None if text == NULL_CLIENT else str(read_values(text))


@dataclass
class TalkLine:
    """Line of a conversation."""

    at_ms: int  # since the start of the recording
    speaker: str
    kind: str
    api: str = ""  # Kafka's name of a request
    version: int = -1
    values: dict[str, Value] = field(default_factory=dict)  # fields of a request or response, in the written form
    client_id: str | None = None  # of a client that connects
    number: int = 0  # in the file, from 1

    def __str__(self) -> str:
        return f"{self.at_ms:>7} ms  {self.speaker} {self.content}"

    @property
    def content(self) -> str:
        """The content without time and speaker."""
        if self.kind == DISCONNECTS:
            return "disconnects"
        if self.kind == CONNECTS:
            return f"connects as {shown_client(self.client_id)}"
        if self.kind == ANSWER:
            return f"<- {shown_answer(self.values)}".rstrip()
        return f"{self.api} v{self.version}{_with_values(self.values)}"


def shown_client(client_id: str | None) -> str:
    """Return a client id as in a line."""
    if client_id is None:
        return NULL_CLIENT
    return f'"{NULL_CLIENT}"' if client_id == NULL_CLIENT else show(client_id)


def shown_answer(values: dict[str, Value]) -> str:
    """Return a response as in a line, beginning with its error."""
    rest = {name: value for name, value in values.items() if name != "error_code"}
    return f"{values.get('error_code', '')}{_with_values(rest)}".strip()


def _with_values(values: dict[str, Value]) -> str:
    return f" {show(values)}" if values else ""


def read_line(text: str, number: int) -> TalkLine | None:
    """Return the content of a line, or None if it is empty or a comment. Raise ValueError if it is malformed."""
    if not text.strip() or text.startswith("#"):
        return None
    timed = _TIMED.fullmatch(text)
    if timed is None:
        raise ValueError(f"a line begins with a time and a speaker, as in `120 ms  ada`, not with {text[:40]!r}")
    step = read_step(timed["step"], RECORDED_FORMS)
    words, error = step.words, {"error_code": step.words["error"]} if "error" in step.words else {}
    return TalkLine(
        int(timed["at_ms"]),
        words["speaker"],
        step.kind,
        words.get("api", ""),
        int(words.get("version", -1)),
        error | step.values,
        read_client(words["client"]) if "client" in words else None,
        number,
    )
