"""Log lines: values first, text or JSON last, and never in anybody's way.

A line is put down as a tuple and rendered when the replies of the turn have gone out. structlog is loaded with the
first line that is rendered, a moment after start: it takes as long to load as a first consumer needs to join.

`serve` renders and writes in a thread (`line_writer.py`): a pipe that nobody reads costs lines, which are counted.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO

from kohort.broker.clock import Clock, SystemClock
from kohort.broker.lean_imports import without
from kohort.protocol.visible import visible, visible_lines

if TYPE_CHECKING:
    from structlog.typing import Processor

    from kohort.broker.line_writer import LineWriter

LEVELS = ("debug", "info", "warning", "error")

LONGEST_TEXT = 4_000
"""Characters of a line on the console."""

AROUND_TEXT = 150
"""Bytes of a line beside its text, more or less."""

LINES_WAITING = 1_000
"""Lines that may wait to be rendered; more are rendered at once."""


class Line(NamedTuple):
    """One line, before it is text."""

    wall_ms: int
    level: str
    text: str
    """The sentence that a person reads."""
    values: Mapping[str, object]
    """The parts of the text by name; only JSON lines show them."""
    trace: str = ""
    """The traceback of our bug; begins with a line end."""


class Log:
    """Where lines go. There is one, `log`; `serve` configures it."""

    def __init__(self) -> None:
        self.debug_enabled = False
        """Asked before a line is made that is wanted only at debug."""
        self.info_enabled = True
        """Asked before a line at info is made that takes some making."""
        self.clock: Clock = SystemClock()
        self.later: Callable[[Callable[[], None]], object] | None = None
        """Runs a function when there is nothing better to do. Without it lines are rendered at once."""
        self._threshold = LEVELS.index("info")
        self._json = False
        self._stream: TextIO | None = None
        self._writer: LineWriter | None = None
        self._waiting: list[Line] = []
        self._render: Callable[[Line], str] | None = None

    def configure(
        self,
        *,
        level: str = "info",
        json: bool = False,
        stream: TextIO | None = None,
        writer: LineWriter | None = None,
    ) -> None:
        """Lines below `level` are dropped; the others go to `writer`, or else to `stream`, or else to stderr.

        A stream is written to at once, and may block; a writer never does.
        """
        self._threshold = LEVELS.index(level)
        self.debug_enabled = level == "debug"
        self.info_enabled = level in ("debug", "info")
        self._json = json
        self._stream = stream
        self._writer = writer
        self._render = None
        if writer is not None:
            writer.notice = self._notice

    def debug(self, text: str, **values: object) -> None:
        """What only somebody who searches wants to see."""
        self._put("debug", text, values)

    def info(self, text: str, **values: object) -> None:
        """What happens."""
        self._put("info", text, values)

    def warning(self, text: str, **values: object) -> None:
        """What will hurt somebody."""
        self._put("warning", text, values)

    def error(self, text: str, problem: BaseException | None = None, **values: object) -> None:
        """Our bug, with its traceback: `problem`'s, or that of what is being handled. Written at once."""
        problem = problem or sys.exc_info()[1]
        trace = ""
        if problem is not None:
            from traceback import format_exception

            trace = "\n" + "".join(format_exception(problem)).rstrip()
        self._put("error", text, values, trace)
        self.flush()

    def flush(self) -> None:
        """Renders and writes what waits."""
        if not self._waiting:
            return
        lines, self._waiting = self._waiting, []
        if self._writer is not None:
            self._write_behind(self._writer, lines)
            return
        stream = self._stream or sys.stderr
        render = self._rendering(stream.isatty())
        try:
            stream.write("".join(f"{render(line)}\n" for line in lines))
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads our log any more; that is no reason to stop serving

    def close(self) -> None:
        """Writes what waits, for the last time."""
        self.flush()
        if self._writer is not None:
            self._writer.close()

    def _write_behind(self, writer: LineWriter, lines: list[Line]) -> None:
        for line in lines:
            writer.write(partial(self._bytes, line), AROUND_TEXT + len(line.text) + len(line.trace))

    def _notice(self, dropped: int) -> bytes:
        text = f"log lines dropped here: {dropped}; nobody read them in time, or there was no room for them"
        clock = self.clock
        return self._bytes(Line(clock.now_ms() + clock.epoch_ms, "warning", text, {"dropped": dropped}))

    def _bytes(self, line: Line) -> bytes:
        """Called by the writer's thread: names of 32 KB cost time."""
        assert self._writer is not None, "it asks for them"
        return self._rendering(os.isatty(self._writer.descriptor))(line).encode() + b"\n"

    def _rendering(self, colors: bool) -> Callable[[Line], str]:
        if self._render is None:
            self._render = _renderer(self._json, colors)
        return self._render

    def _put(self, level: str, text: str, values: Mapping[str, object], trace: str = "") -> None:
        if LEVELS.index(level) < self._threshold:
            return
        clock = self.clock
        self._waiting.append(Line(clock.now_ms() + clock.epoch_ms, level, text, values, trace))
        if self.later is None or len(self._waiting) > LINES_WAITING:
            self.flush()
        elif len(self._waiting) == 1:
            self.later(self.flush)


def _renderer(json: bool, colors: bool) -> Callable[[Line], str]:
    with without("rich"):
        import structlog
    if json:
        write: Processor = structlog.processors.JSONRenderer(default=str)
    else:
        write = structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0, pad_level=False)

    def render(line: Line) -> str:
        moment = datetime.fromtimestamp(line.wall_ms / 1000, UTC)
        if json:
            event: dict[str, object] = {
                "timestamp": moment.isoformat(timespec="milliseconds"),
                "level": line.level,
                "event": line.text + line.trace,
            }
            event.update(line.values)
        else:
            local = moment.astimezone().strftime("%H:%M:%S.%f")[:-3]
            event = {"timestamp": local, "level": line.level, "event": visible(_cut(line.text)) + _set_in(line.trace)}
        return str(write(None, line.level, event))

    return render


def _cut(text: str) -> str:
    """What fits on a few screens: a client may choose a group id of 32 KB, and JSON has all of it."""
    left = len(text) - LONGEST_TEXT
    return text if left <= 0 else f"{text[:LONGEST_TEXT]}… and {left:,} characters more"


def _set_in(trace: str) -> str:
    """Names in a traceback may hold line ends: set in, none of its lines looks like one of ours."""
    return visible_lines(trace).replace("\n", "\n  | ")


class LibraryLines(logging.Handler):
    """Lets what libraries log be lines of ours: uvicorn's and asyncio's would go to stderr, which may block."""

    def emit(self, record: logging.LogRecord) -> None:
        """Level and message; with an exception its traceback."""
        problem = record.exc_info[1] if record.exc_info else None
        text = f"{record.name}: {record.getMessage().strip()}"
        if record.levelno >= logging.ERROR:
            log.error(text, problem)
        else:
            log.warning(text)


log = Log()
