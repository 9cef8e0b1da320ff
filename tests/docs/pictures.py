"""Draws the pictures of docs/explanation: sequence diagrams of conversations, and states with their transitions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from kohort.coordinator.classic.states import ALLOWED_FROM, State
from kohort.coordinator.share_partitions import record_states
from kohort.proxy.talk.talk_lines import Step
from tests.docs.sources import CONVERSATIONS, ROOT
from tests.talk.script import read_conversation
from tests.talk.values import Value

IMAGES = ROOT / "docs" / "images"

# The conversations that are drawn, each with the number of steps at its start that are left out.
SEQUENCES = {
    "join-barrier.svg": ("classic/second-member-starts-a-rebalance", 0),
    "join-barrier-timeout.svg": ("classic/rebalance-absent-member-is-dropped", 0),
    "cooperative-rounds.svg": ("rules/cooperative-rebalance-in-two-rounds", 0),
    "consumer-epochs.svg": ("consumer/rebalance-step-by-step", 1),
    "share-locks.svg": ("share/lock-expires", 6),
    "streams-tasks.svg": ("streams/rebalance-step-by-step", 1),
}
RESPONSE_FIELDS = (
    "generation_id",
    "leader",
    "member_epoch",
    "assignment",
    "acquired_records",
    "error_code",
)  # fields of a response

_GROUP_STEPS = ("group", "members")
_UNSPOKEN = (*_GROUP_STEPS, "wait", "topic")  # steps without a sender
_LINE, _LEFT_MARGIN, _TOP = 34, 70, 70
_COLUMN, _CHARACTER = 125, 7  # width of a member's column, and of a character of a label: small pictures fit phones
_TAG = re.compile(r"<[^>]+>")
_STYLE = (
    "<style>text{font:13px sans-serif;fill:#222}.head{font-weight:bold}.note{fill:#666;font-style:italic}"
    ".bad{fill:#b3261e}path,line{stroke:#444;fill:none}.life{stroke:#bbb;stroke-dasharray:4 4}"
    ".box{fill:#eef1fb;stroke:#4051b5}.paper{fill:#fff}.head-of-arrow{fill:#444;stroke:none}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.note{fill:#aaa}.bad{fill:#ff8a80}path,line{stroke:#bbb}"
    ".life{stroke:#666}.box{fill:#2a2f4a;stroke:#8c9eff}.paper{fill:#1e2129}.head-of-arrow{fill:#bbb}}</style>"
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">'
    '<path class="head-of-arrow" d="M0 0 L10 5 L0 10 z"/></marker></defs>'
)


def pictures() -> dict[Path, str]:
    """Return the text of each picture by path."""
    drawn = {
        IMAGES / name: sequence(CONVERSATIONS / f"{path}.talk", skipped) for name, (path, skipped) in SEQUENCES.items()
    }
    return drawn | {
        IMAGES / "classic-states.svg": _states(
            "States of a classic group",
            {state.value: place for state, place in _PLACES.items()},
            [(start.value, end.value) for end, allowed in ALLOWED_FROM.items() for start in State if start in allowed],
        ),
        IMAGES / "record-states.svg": _states(
            "States of a record in a share group",
            {record_states.NAMES[state]: place for state, place in _RECORD_PLACES.items()},
            [
                (record_states.NAMES[start], record_states.NAMES[end])
                for start, ends in record_states.MOVES.items()
                for end in sorted(ends)
            ],
        ),
    }


def sequence(path: Path, skipped: int) -> str:
    """Return the sequence diagram of a conversation, without its first steps."""
    conversation = read_conversation(path)
    steps = list(_drawn(conversation.steps[skipped:]))
    members = [name for step in steps if step.kind in _GROUP_STEPS for name in _members(step)]
    people = list(dict.fromkeys([*members, *(step.client for step in steps if step.kind not in _UNSPOKEN)]))
    columns = {name: _LEFT_MARGIN + number * _COLUMN for number, name in enumerate(people)}
    broker = _LEFT_MARGIN + len(people) * _COLUMN + 60
    lines = list(_arrows(steps, columns, broker))
    longest = max(len(_TAG.sub("", line)) for line in lines if "text-anchor" not in line)
    height = _TOP + _LINE * (len(steps) + 1)
    lives = [
        f'<line class="life" x1="{x}" y1="50" x2="{x}" y2="{height - 20}"/>'
        f'<rect class="box" x="{x - 55}" y="20" width="110" height="30" rx="4"/>'
        f'<text class="head" x="{x}" y="40" text-anchor="middle">{name}</text>'
        for name, x in (*columns.items(), ("coordinator", broker))
    ]
    return _svg(broker + 20 + longest * _CHARACTER, height, conversation.title, [*lives, *lines])


def _members(step: Step) -> list[str]:
    return [name.strip() for name in step.words["members"].split(",")]


def _drawn(steps: list[Step]) -> Iterator[Step]:
    """Yield the steps without requests that only look at the group, and their responses."""
    looking: set[str] = set()
    for step in steps:
        if step.kind not in ("answer", "silence"):
            looking -= {step.speaker}
            looking |= {step.speaker} if _only_looks(step) else set()
        if step.speaker not in looking:
            yield step


def _only_looks(step: Step) -> bool:
    return "Describe" in step.words.get("api", "") or step.kind == "reads"


def _arrows(steps: list[Step], columns: dict[str, int], broker: int) -> Iterator[str]:
    y = _TOP
    for step in steps:
        y += _LINE
        if step.kind in _GROUP_STEPS:
            yield _note(broker, y, f"{', '.join(_members(step))} in a stable group")
        elif step.kind == "wait":
            yield _note(broker, y, f"{step.words['length']} ms later")
        elif step.kind == "silence":
            yield _note(broker, y, f"{step.client} waits: no response")
        elif step.kind == "answer":
            error = step.words.get("error", "")
            delay = f" after {step.words['least']}–{step.words['most']} ms" if "least" in step.words else ""
            yield _arrow(broker, columns[step.client], y)
            name = "" if error in ("", "NONE") else f'<tspan class="bad">{error}</tspan> '
            yield f'<text x="{broker + 12}" y="{y + 4}">{name}{escape(_facts(step.values))}{delay}</text>'
        elif step.speaker:
            yield _arrow(columns[step.client], broker, y)
            middle = (columns[step.client] + broker) / 2
            yield f'<text x="{middle}" y="{y - 5}" text-anchor="middle">{escape(_request(step))}</text>'
        else:
            yield _note(broker, y, step.text)


def _request(step: Step) -> str:
    of = {"share": "ShareGroupHeartbeat", "streams": "StreamsGroupHeartbeat"}.get(step.words.get("of", ""), "")
    name = {
        "joins": "JoinGroup",
        "beats": of or "ConsumerGroupHeartbeat",
        "leaves": "ConsumerGroupHeartbeat, epoch -1",
    }.get(step.kind, step.words.get("api", step.kind))
    return f"{name} {_facts(step.values)}".strip()


def _facts(values: Value) -> str:
    """Return the fields of a message that a diagram shows."""
    return ", ".join(dict.fromkeys(_response_facts(values)))


def _response_facts(values: Value) -> Iterator[str]:
    if isinstance(values, dict):
        for name, value in values.items():
            if name in ("assignment", "active_tasks"):
                label = "tasks" if name == "active_tasks" else name
                yield f"{label} unchanged" if value is None else f"{label} {_plain(value) if value else 'empty'}"
            elif name in RESPONSE_FIELDS and not isinstance(value, dict | list) and str(value) != "NONE":
                yield f"{name} {_plain(value)}"
            elif name == "acquired_records" and isinstance(value, list):
                yield from (
                    f"offsets {r['first_offset']}-{r['last_offset']}, delivery {r['delivery_count']}" for r in value
                )
            else:
                yield from _response_facts(value)
    elif isinstance(values, list):
        for value in values:
            yield from _response_facts(value)


def _plain(value: Value) -> str:
    text = str(value).removeprefix("assignment(").removesuffix(")") or "empty"
    return text.translate(str.maketrans("", "", "'${}"))


def _arrow(start: int, end: int, y: int) -> str:
    return f'<line x1="{start}" y1="{y}" x2="{end}" y2="{y}" marker-end="url(#arrow)"/>'


def _note(x: int, y: int, text: str) -> str:
    return f'<text class="note" x="{x + 12}" y="{y + 4}">{escape(text)}</text>'


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        f"<title>{escape(title)}</title>{_STYLE}"
        f'<rect width="{width:g}" height="{height:g}" class="paper"/>{"".join(parts)}</svg>\n'
    )


_PLACES = {
    State.EMPTY: (90, 60),
    State.PREPARING_REBALANCE: (370, 60),
    State.COMPLETING_REBALANCE: (650, 60),
    State.STABLE: (650, 210),
    State.DEAD: (230, 210),
}


_RECORD_PLACES = {
    record_states.AVAILABLE: (90, 60),
    record_states.ACQUIRED: (370, 60),
    record_states.ACKNOWLEDGED: (650, 60),
    record_states.ARCHIVED: (230, 210),
    record_states.ARCHIVING: (510, 210),
}


def _states(title: str, places: Mapping[str, tuple[int, int]], moves: list[tuple[str, str]]) -> str:
    """Return states at their places with their transitions."""
    parts = [_transition(places[start], places[end]) for start, end in moves if start != end]
    for name, (x, y) in places.items():
        parts.append(
            f'<rect class="box" x="{x - 80}" y="{y - 20}" width="160" height="40" rx="8"/>'
            f'<text class="head" x="{x}" y="{y + 5}" text-anchor="middle">{name}</text>'
        )
    return _svg(760, 260, title, parts)


def _transition(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return a curved arrow between the borders of two states, so that two opposite arrows do not overlap."""
    (x1, y1), (x2, y2) = start, end
    length = math.hypot(x2 - x1, y2 - y1)
    across = (-(y2 - y1) / length * 14, (x2 - x1) / length * 14)
    edge1, edge2 = _border(x1, y1, x2, y2), _border(x2, y2, x1, y1)
    middle = ((edge1[0] + edge2[0]) / 2 + across[0] * 1.8, (edge1[1] + edge2[1]) / 2 + across[1] * 1.8)
    points = [
        (edge1[0] + across[0] * 0.5, edge1[1] + across[1] * 0.5),
        middle,
        (edge2[0] + across[0] * 0.5, edge2[1] + across[1] * 0.5),
    ]
    (ax, ay), (mx, my), (bx, by) = points
    return f'<path d="M{ax:.0f} {ay:.0f} Q{mx:.0f} {my:.0f} {bx:.0f} {by:.0f}" marker-end="url(#arrow)"/>'


def _border(x: float, y: float, towards_x: float, towards_y: float) -> tuple[float, float]:
    """Return where the line from the middle of a box leaves it."""
    dx, dy = towards_x - x, towards_y - y
    scale = min(82 / abs(dx) if dx else math.inf, 22 / abs(dy) if dy else math.inf)
    return x + dx * scale, y + dy * scale
