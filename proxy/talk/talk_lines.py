"""Steps of a conversation, and the lines of a recorded one: `1234 ms  ada Heartbeat v4 {group_id: billing, …}`.

A speaker is a connection; `ada/2` is the second one of a client. A response (`ada <- NONE {…}`) belongs to the oldest
request of that connection without a response. Conversations of tests have no times and more steps (`tests/talk`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kohort.proxy.talk.recorded_apis import NAME_BY_KAFKAS
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


def read_client(text: str) -> str | None:
    """Return the client id in a line."""
    return None if text == NULL_CLIENT else str(read_values(text))


@dataclass(eq=False)
class Step:
    """Step of a conversation, recorded or written for a test."""

    kind: str  # name of its form
    speaker: str  # connection that sends or receives
    words: dict[str, str] = field(default_factory=dict)  # other parts of the line, by the names in the form
    values: Value = field(default_factory=dict)
    """Fields of a request or response. `talk_file.py` replaces their short forms by lists."""
    number: int = 0  # of the line in its file, from 1
    at_ms: int = 0  # since the start of the recording
    text: str = ""  # as in the file, without the time
    answer: Step | None = None  # recorded response to the request, if any
    request: Step | None = None  # request of a recorded response

    def __str__(self) -> str:
        """Return the line of a recording."""
        return f"{self.at_ms:>7} ms  {self.speaker} {self._content}"

    @property
    def _content(self) -> str:
        if self.kind == DISCONNECTS:
            return "disconnects"
        if self.kind == CONNECTS:
            return f"connects as {self.words['client']}"
        if self.kind == ANSWER:
            return f"<- {shown_answer(self.values)}".rstrip()
        return f"{self.kafka_name} v{self.version}{_with_values(self.values)}"

    @property
    def client(self) -> str:
        """The client that the connection belongs to: ada, of `ada/2`."""
        return self.speaker.partition("/")[0]

    @property
    def client_id(self) -> str | None:
        """The id of a client that connects."""
        return read_client(self.words["client"])

    @property
    def kafka_name(self) -> str:
        """Kafka's name of the API; empty if the line has none."""
        return self.words.get("api", "")

    @property
    def api(self) -> str:
        """Name of the API in `api_keys.py`; empty for APIs outside of recordings."""
        return NAME_BY_KAFKAS.get(self.kafka_name, "")

    @property
    def version(self) -> int:
        """Version of a request."""
        return int(self.words["version"])

    @property
    def response_text(self) -> str:
        """The content of a response as in the file."""
        return self.text.partition("<-")[2].strip()

    def read_number(self, word: str, default: int | None = None) -> int | None:
        """Return a number in the line, or the default if the line has no such word."""
        return int(self.words[word]) if word in self.words else default


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


def read_step(text: str, forms: Forms, number: int, last_speaker: str = "") -> Step:
    """Return a step. Raise ValueError if it has none of the forms, or if its values are malformed.

    Args:
        number: Number of its line.
        last_speaker: Speaker of a step that names none.
    """
    for kind, form in forms.items():
        match = form.fullmatch(text)
        if match is not None:
            words = {name: word for name, word in match.groupdict().items() if word is not None}
            values = read_values(words.pop("values", "{}"))
            return Step(kind, words.pop("speaker", last_speaker), words, values, number, text=text)
    raise ValueError(f"cannot follow {text[:60]!r}")


def read_line(text: str, number: int) -> Step | None:
    """Return the step in a line, or None if it is empty or a comment. Raise ValueError if it is malformed."""
    if not text.strip() or text.startswith("#"):
        return None
    timed = _TIMED.fullmatch(text)
    if timed is None:
        raise ValueError(f"a line begins with a time and a speaker, as in `120 ms  ada`, not with {text[:40]!r}")
    step = read_step(timed["step"], RECORDED_FORMS, number)
    step.at_ms = int(timed["at_ms"])
    if "error" in step.words:
        step.values = {"error_code": step.words["error"]} | step.values
    if "client" in step.words:
        read_client(step.words["client"])  # raises ValueError if it is malformed
    return step
