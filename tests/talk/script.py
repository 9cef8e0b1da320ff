"""Parser of conversations: a header that describes them, then one step per line. README.md describes the format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kohort.proxy.talk.talk_lines import ANSWER, API, CONNECTS, ERROR, RECORDED_FORMS, SPEAKER, VALUES, Step, read_step
from tests.talk.values import QUOTED

RESPONSE = rf"(?:{SPEAKER} )?<- "

STEPS = {
    "silence": rf"{RESPONSE}nothing for (?P<length>\d+) ms",
    "closed": rf"{RESPONSE}closed",
    ANSWER: rf"{RESPONSE}(?:between (?P<least>\d+) and (?P<most>\d+) ms ?)?(?P<eventually>eventually ?)?"
    rf"(?:{API} ?)?(?:{ERROR} ?)?{VALUES}?",
    "beats": rf"{SPEAKER} (?:(?P<of>share|streams)-)?beats(?: v(?P<version>\d+))?(?: {VALUES})?",
    "leaves": rf"{SPEAKER} leaves the group(?: {VALUES})?",
    "reads": rf"{SPEAKER} reads the (?P<what>log|share state) of (?P<of>\S+)",
    "joins": rf"{SPEAKER} joins(?: v(?P<version>\d+))?(?: {VALUES})?",
    "sends": rf"{SPEAKER} sends (?:{VALUES}|0x(?P<bytes>[0-9a-f]*))",
    CONNECTS: rf"{SPEAKER} connects(?: to (?P<where>.+?))?(?: as (?P<client>.+))?",
    "stops": r"broker (?P<node>\S+) stops",
    "starts": r"broker (?P<node>\S+) starts",
    "restarts": r"the broker restarts(?: with (?P<setting>[a-z.]+)=(?P<value>\S+))?",
    "leads": r"broker (?P<node>\S+) leads (?P<topic>\S+) partition (?P<partition>\S+)",
    "wait": r"wait (?P<length>\d+) ms",
    "topic": (
        r"given topic \$(?P<topic>\w+)(?: with (?P<partitions>\d+) partitions?)?(?: and (?P<replicas>\d+) replicas)?"
    ),
    "members": rf"given (?P<members>[a-z0-9, ]+?) shares? a (?P<of>consumer|share|streams) group(?: {VALUES})?",
    "group": rf"given (?P<members>[a-z0-9, ]+?) shares? a stable group(?: {VALUES})?",
}
# by the name of the player's method
FORMS = {**RECORDED_FORMS, **{kind: re.compile(form) for kind, form in STEPS.items()}}

HEADER = re.compile(r"# (source|profile|warm|alone): (.*)")


class ScriptError(Exception):
    """A conversation that cannot be read or played as it is written. The message names file and line."""


@dataclass(frozen=True)
class Conversation:
    """One file."""

    path: Path
    title: str
    lines: list[str]
    source: str = ""
    profile: str = "default"
    warm: bool = True  # whether groups have coordinators from the start

    @cached_property
    def steps(self) -> list[Step]:
        """Its steps, read when they are played: a process plays some of the conversations. Raises ScriptError."""
        return read_steps(self.path, self.lines)

    @property
    def has_patterns(self) -> bool:
        """Whether a member subscribes by a pattern, which needs google-re2."""
        return any("regex" in line for line in self.lines)

    def has(self, *kinds: str) -> bool:
        """Return whether one of its single-line steps is of one of these forms."""
        return any(FORMS[kind].fullmatch(line.strip()) for kind in kinds for line in self.lines)


def read_conversation(path: Path) -> Conversation:
    """Read the header of a .talk file.

    Raises:
        ScriptError: The header is invalid.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    title, header = _read_header(path, lines)
    return Conversation(
        path,
        title,
        lines,
        source=header.get("source", ""),
        profile=header.get("profile", "default"),
        warm=header.get("warm", "yes") == "yes",
    )


def read_steps(path: Path, lines: list[str], last_speaker: str = "") -> list[Step]:
    """Return the steps of some lines.

    Raises:
        ScriptError: A line is invalid; the error names `path`.
    """
    steps: list[Step] = []
    number = 0
    while number < len(lines):
        first, text = number, lines[number].strip()
        number += 1
        if not text or text.startswith("#"):
            continue
        while _open_braces(text):
            if number == len(lines):
                raise ScriptError(f"{path}:{first + 1}: a brace is never closed")
            text += " " + lines[number].strip()
            number += 1
        steps.append(_read_step(path, first + 1, text, steps[-1].speaker if steps else last_speaker))
    return steps


def _read_header(path: Path, lines: list[str]) -> tuple[str, dict[str, str]]:
    header, title = {}, []
    for line in lines:
        if not line.startswith("#"):
            break
        said = HEADER.fullmatch(line)
        if said:
            header[said[1]] = said[2]
        elif not header:
            title.append(line[1:].strip())
    if not title:
        raise ScriptError(f"{path}:1: the first line must be one sentence about the conversation")
    return " ".join(title).strip(), header


def _open_braces(text: str) -> bool:
    bare = QUOTED.sub("", text)
    return bare.count("{") + bare.count("[") > bare.count("}") + bare.count("]")


def _read_step(path: Path, number: int, text: str, last_speaker: str) -> Step:
    try:
        step = read_step(text, FORMS, number, last_speaker)
    except ValueError as error:
        raise ScriptError(f"{path}:{number}: {error}") from None
    if step.kind in ("answer", "silence", "closed") and not step.speaker:
        raise ScriptError(f"{path}:{number}: a response before the first request")
    return step
