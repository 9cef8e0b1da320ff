"""The lines of a recorded conversation: when, who, and what. `1234 ms  ada Heartbeat v4 {group_id: billing, …}`.

A client is one who speaks; `ada/2` is its second connection. An answer (`ada <- NONE {…}`) belongs to the oldest
request of that connection that has none yet. The form is close to that of the conversations in `tests/talk`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from kohort.proxy.talk.talk_values import Value, read_values, show

VERSION: Final = 1
FIRST_LINE: Final = f"# kohort talk {VERSION}"

CONNECTS, DISCONNECTS, REQUEST, ANSWER = "connects", "disconnects", "request", "answer"

NOBODY: Final = "nobody"
"""What a null client id looks like."""

_TIMED: Final = re.compile(r" *([0-9]{1,12}) ms +([a-z][a-z0-9]*(?:/[0-9]+)?) +(.*)")
_FORMS: Final = {
    CONNECTS: re.compile(r"connects as (?P<client>.+)"),
    DISCONNECTS: re.compile(r"disconnects"),
    ANSWER: re.compile(r"<-(?: (?P<error>[A-Z][A-Z_]+))?(?: (?P<values>\{.*\}))?"),
    REQUEST: re.compile(r"(?P<api>[A-Z][A-Za-z]+) v(?P<version>[0-9]{1,4})(?: (?P<values>\{.*\}))?"),
}


@dataclass
class TalkLine:
    """One line."""

    at_ms: int
    """Since the start of the recording."""
    speaker: str
    kind: str
    api: str = ""
    """Kafka's name of a request."""
    version: int = -1
    values: dict[str, Value] = field(default_factory=dict)
    """The fields of a request or an answer, in the form that is written."""
    client_id: str | None = None
    """What a client that connects calls itself."""
    number: int = 0
    """In the file, from 1 on."""

    def __str__(self) -> str:
        return f"{self.at_ms:>7} ms  {self.speaker} {self.said}"

    @property
    def said(self) -> str:
        """What is said, without the time and the speaker."""
        if self.kind == DISCONNECTS:
            return "disconnects"
        if self.kind == CONNECTS:
            return f"connects as {shown_client(self.client_id)}"
        if self.kind == ANSWER:
            return f"<- {shown_answer(self.values)}".rstrip()
        return f"{self.api} v{self.version}{_shown(self.values)}"


def shown_client(client_id: str | None) -> str:
    """A client id as a line has it."""
    if client_id is None:
        return NOBODY
    return f'"{NOBODY}"' if client_id == NOBODY else show(client_id)


def shown_answer(values: dict[str, Value]) -> str:
    """An answer as a line has it: its error first."""
    rest = {name: value for name, value in values.items() if name != "error_code"}
    return f"{values.get('error_code', '')}{_shown(rest)}".strip()


def _shown(values: dict[str, Value]) -> str:
    return f" {show(values)}" if values else ""


def read_line(text: str, number: int) -> TalkLine | None:
    """What a line says; None: nothing, it is empty or a comment. Raises ValueError."""
    if not text.strip() or text.startswith("#"):
        return None
    timed = _TIMED.fullmatch(text)
    if timed is None:
        raise ValueError(f"a line begins with a time and a speaker, as in `120 ms  ada`, not with {text[:40]!r}")
    for kind, form in _FORMS.items():
        said = form.fullmatch(timed[3])
        if said is not None:
            return _line(TalkLine(int(timed[1]), timed[2], kind, number=number), said.groupdict())
    raise ValueError(f"cannot follow {timed[3][:60]!r}")


def _line(line: TalkLine, said: dict[str, str | None]) -> TalkLine:
    if line.kind == CONNECTS:
        client = said["client"] or ""
        line.client_id = None if client == NOBODY else str(read_values(client))
        return line
    if said.get("error"):
        line.values["error_code"] = said["error"]
    if said.get("values"):
        line.values |= read_values(said["values"] or "")
    line.api, line.version = said.get("api") or "", int(said.get("version") or -1)
    return line
