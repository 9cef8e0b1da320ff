"""SVG by hand: a time axis and the few shapes that the charts are made of. Everything from outside is escaped here."""

from __future__ import annotations

import datetime
import html
from dataclasses import dataclass

LEFT, WIDTH, RIGHT = 150, 1000, 10
"""The charts of one group share these, so that the same moment is at the same place in all of them."""

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
_COLOURS = 12


def esc(text: object) -> str:
    """Text for HTML and for attributes: names of groups and clients may hold anything."""
    return html.escape(str(text), quote=True)


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


def moment(ms: float, shape: str = "%Y-%m-%d %H:%M:%S") -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).strftime(shape)


def rect(x0: float, y: float, x1: float, height: float, kind: str, title: str = "", least: float = 0.0) -> str:
    width = max(least, x1 - x0)
    inner = f"<title>{esc(title)}</title>" if title else ""
    return f'<rect class="{kind}" x="{x0:g}" y="{y:g}" width="{width:.1f}" height="{height:g}">{inner}</rect>'


def text(x: float, y: float, words: object, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{esc(words)}</text>'


def label(y: float, words: object) -> str:
    """The name of a row, left of the axis; long ones are cut, with the whole in a tooltip."""
    words = str(words)
    shown = words if len(words) <= 21 else words[:20] + "…"
    return (
        f'<text class="label" x="{LEFT - 6}" y="{y:g}" text-anchor="end"><title>{esc(words)}</title>{esc(shown)}</text>'
    )


def chart(height: float, parts: list[str], title: str, axis: Axis | None = None) -> str:
    """A whole drawing with a name for those who can't see it, and a time axis below when given one."""
    grid = []
    if axis is not None:
        for x, words in axis.ticks():
            grid.append(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{height - 16:g}"/>')
            grid.append(text(x, height - 4, words, "tick", "middle"))
    return (
        f'<div class="chart"><svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{esc(title)}">'
        f"<title>{esc(title)}</title>{''.join(grid)}{''.join(parts)}</svg></div>"
    )


class Colours:
    """A colour class for each name, the same one all over a group's page."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}

    def of(self, name: str | None) -> str:
        if name is None:
            return "nobody"
        return f"c{self._of.setdefault(name, len(self._of)) % _COLOURS}"

    @property
    def legend(self) -> str:
        if not self._of:
            return ""
        items = "".join(f'<span><i class="{self.of(name)}"></i>{esc(name)}</span>' for name in list(self._of)[:24])
        return f'<p class="legend">{items}</p>'
