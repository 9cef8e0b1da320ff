"""Log lines: values first, text or JSON last, and never in anybody's way.

A line is put down as a tuple and rendered when the replies of the turn have gone out. structlog is loaded with the
first line that is rendered, a moment after start: it takes as long to load as a first consumer needs to join.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TextIO

from kohort.broker.lean_imports import without

LEVELS = ("debug", "info", "warning", "error")

LINES_WAITING = 1_000
"""Lines that may wait to be rendered; more are rendered at once."""


class Line(NamedTuple):
    """One line, before it is text."""

    level: str
    text: str
    """The sentence that a person reads."""
    values: Mapping[str, object]
    """The same in pieces; written out as JSON only."""


class Log:
    """Where lines go. There is one, `log`; `serve` configures it."""

    def __init__(self) -> None:
        self.debug_enabled = False
        """Asked before a line is made that is wanted only at debug."""
        self.later: Callable[[Callable[[], None]], object] | None = None
        """Runs a function when there is nothing better to do. Without it lines are rendered at once."""
        self._threshold = LEVELS.index("info")
        self._json = False
        self._stream: TextIO | None = None
        self._waiting: list[Line] = []
        self._render: Callable[[Line], str] | None = None

    def configure(self, *, level: str = "info", json: bool = False, stream: TextIO | None = None) -> None:
        """Lines below `level` are dropped; the others go to `stream`, which is stderr unless given."""
        self._threshold = LEVELS.index(level)
        self.debug_enabled = level == "debug"
        self._json = json
        self._stream = stream
        self._render = None

    def debug(self, text: str, **values: object) -> None:
        """What only somebody who searches wants to see."""
        self._put(Line("debug", text, values))

    def info(self, text: str, **values: object) -> None:
        """What happens."""
        self._put(Line("info", text, values))

    def warning(self, text: str, **values: object) -> None:
        """What will hurt somebody."""
        self._put(Line("warning", text, values))

    def error(self, text: str, **values: object) -> None:
        """Our bug. With the traceback of the exception that is being handled; written at once."""
        trace = sys.exc_info()
        if trace[1] is not None:
            from traceback import format_exception

            text = text + "\n" + "".join(format_exception(*trace)).rstrip()
        self._put(Line("error", text, values))
        self.flush()

    def flush(self) -> None:
        """Renders and writes what waits."""
        if not self._waiting:
            return
        lines, self._waiting = self._waiting, []
        render = self._render
        if render is None:
            render = self._render = _renderer(self._json, self._stream or sys.stderr)
        stream = self._stream or sys.stderr
        try:
            stream.write("".join(f"{render(line)}\n" for line in lines))
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads our log any more; that is no reason to stop serving

    def _put(self, line: Line) -> None:
        if LEVELS.index(line.level) < self._threshold:
            return
        self._waiting.append(line)
        if self.later is None or len(self._waiting) > LINES_WAITING:
            self.flush()
        elif len(self._waiting) == 1:
            self.later(self.flush)


def _renderer(json: bool, stream: TextIO) -> Callable[[Line], str]:
    with without("rich"):
        import structlog
    stamp = structlog.processors.TimeStamper(fmt="iso" if json else "%H:%M:%S.%f", utc=json)
    if json:
        write = structlog.processors.JSONRenderer()
    else:
        write = structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0, pad_level=False)

    def render(line: Line) -> str:
        event: dict[str, Any] = {"level": line.level, "event": line.text}
        if json:
            event |= line.values
        rendered: str = write(None, line.level, stamp(None, line.level, event))
        return rendered

    return render


log = Log()
