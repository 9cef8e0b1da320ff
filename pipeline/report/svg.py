"""SVG output: a time axis and the few shapes used in drawings. External text is escaped here."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kohort.base.visible import visible

LEFT, WIDTH, RIGHT = 150, 1000, 10  # shared by all drawings of a group, so that times are aligned

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_COLOURS, _NAMED = 24, 24
LONGEST_NAME, _TAIL = 64, 16


def esc(text: object) -> str:
    """Escape text for HTML and attributes, because names of groups and clients may contain anything."""
    return html.escape(visible(str(text)), quote=True)


def name(text: str) -> str:
    """Render a group's or client's name, isolated from the direction of the text around it, and cut if it is long."""
    whole = visible(text)
    if not whole:
        return "<i>(empty id)</i>"
    if len(whole) <= LONGEST_NAME:
        return f"<bdi>{esc(text)}</bdi>"
    short = f"{whole[: LONGEST_NAME - _TAIL - 1]}…{whole[-_TAIL:]}"
    return f'<bdi title="{esc(text)}">{html.escape(short, quote=True)}</bdi>'


def command(line: str) -> str:
    """Render a command line, complete so that it can be copied."""
    return f"<code>{esc(line)}</code>"


# A command in a text, between backticks. A quoted argument may contain a backtick.
_COMMAND = r"`kohort (?:'[^']*'|[^'`])*`"


def sentence(text: str, names: Iterable[str]) -> str:
    """Render a sentence, with these names and the commands in it marked."""
    sorted_names = sorted({visible(one) for one in names if one}, key=len, reverse=True)
    any_name = f"(?<![\\w.-])(?:{'|'.join(map(re.escape, sorted_names))})(?![\\w-])"
    marked = f"{_COMMAND}|{any_name}" if sorted_names else _COMMAND
    parts = re.split(f"({marked})", visible(text))
    return "".join(_marked(part) if n % 2 else html.escape(part, quote=True) for n, part in enumerate(parts))


def _marked(part: str) -> str:
    return command(part[1:-1]) if re.fullmatch(_COMMAND, part) else name(part)


@dataclass(frozen=True, slots=True)
class Axis:
    start_ms: int
    end_ms: int

    def x(self, ms: float) -> float:
        span = max(1, self.end_ms - self.start_ms)
        inner = WIDTH - LEFT - RIGHT
        return round(LEFT + inner * min(1.0, max(0.0, (ms - self.start_ms) / span)), 1)

    def ticks(self) -> list[tuple[float, str]]:
        span_s = max(1, self.end_ms - self.start_ms) / 1000
        step = next((s for s in _STEPS_S if span_s / s <= 9), _STEPS_S[-1] * (1 + int(span_s / _STEPS_S[-1] / 9)))
        first = -(-self.start_ms // (step * 1000))
        shape = "%H:%M:%S" if step < 60 else ("%H:%M" if span_s < 86_400 else "%d %b %H:%M")
        return [
            (self.x(n * step * 1000), moment(n * step * 1000, shape))
            for n in range(int(first), int(self.end_ms // (step * 1000)) + 1)
        ]


@dataclass(slots=True)
class Span:
    """Period in one row of a drawing."""

    start_ms: int
    end_ms: int
    kind: str
    title: str
    more: int = 0  # number of short adjacent spans merged into this one


def thinned(axis: Axis, spans: Iterable[Span], least: float) -> list[Span]:
    """Merge adjacent spans narrower than `least`, so that a drawing has at most a few hundred shapes.

    The merged span covers all its parts, and its title has their number.
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda item: item.start_ms):
        last = kept[-1] if kept else None
        if last is not None and axis.x(span.end_ms) - axis.x(last.start_ms) < least:
            last.end_ms, last.more = max(last.end_ms, span.end_ms), last.more + 1
        else:
            kept.append(span)
    for span in kept:
        if span.more:
            span.title += f"; and {span.more} more until {moment(span.end_ms, '%H:%M:%S')}"
    return kept


def moment(ms: float, shape: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).strftime(shape)


def rect(x0: float, y: float, x1: float, height: float, kind: str, title: str = "", least: float = 0.0) -> str:
    width = max(least, x1 - x0)
    inner = f"<title>{esc(title)}</title>" if title else ""
    return f'<rect class="{kind}" x="{x0:g}" y="{y:g}" width="{width:.1f}" height="{height:g}">{inner}</rect>'


def bar(axis: Axis, span: Span, y: float, height: float, least: float = 0.0) -> str:
    return rect(axis.x(span.start_ms), y, axis.x(span.end_ms), height, span.kind, span.title, least)


def link(target: str, name: str, inner: str) -> str:
    return f'<a href="#{esc(target)}" aria-label="{esc(name)}">{inner}</a>'


def text(x: float, y: float, words: object, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{esc(words)}</text>'


def label(y: float, words: object) -> str:
    """Render the label of a row, left of the axis; a long one is cut, with the full text in a tooltip."""
    words = str(words)
    cut = words if len(words) <= 21 else words[:20] + "…"
    return (
        f'<text class="label" x="{LEFT - 6}" y="{y:g}" text-anchor="end"><title>{esc(words)}</title>{esc(cut)}</text>'
    )


def chart(height: float, parts: list[str], title: str, axis: Axis | None = None) -> str:
    """Render a drawing with an accessible title, and a time axis below it if given.

    A drawing wider than the screen scrolls separately, also by keyboard.
    """
    grid = []
    if axis is not None:
        for x, words in axis.ticks():
            grid.append(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{height - 16:g}"/>')
            grid.append(text(x, height - 4, words, "tick", "middle"))
    return (
        f'<div class="chart" tabindex="0" role="region" aria-label="{esc(title)}">'
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="group" aria-label="{esc(title)}">'
        f"<title>{esc(title)}</title>{''.join(grid)}{''.join(parts)}</svg></div>"
    )


def left_out(count: int, total: int, items: str) -> str:
    """Render a note about omitted items; empty without omitted items."""
    if count >= total:
        return ""
    return f'<p class="soft">{count} of {total} {esc(items)} are shown; all are in the tables.</p>'


class Colours:
    """Color class for each name, consistent within a group's page."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}

    def of(self, name: str | None) -> str:
        if name is None:
            return "unowned"
        return f"c{self._of.setdefault(name, len(self._of)) % _COLOURS}"

    @property
    def names(self) -> list[tuple[str, str]]:
        """Class and name of each color, limited to the size of a legend."""
        return [(self.of(name), name) for name in list(self._of)[:_NAMED]]


def legend(entries: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<span><i class="{kind}"></i>{esc(name)}</span>' for kind, name in entries)
    return f'<p class="legend">{items}</p>'
