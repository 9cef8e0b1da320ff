"""Log lines: collected as values, and rendered as text or JSON when the event loop has time.

A line is stored as a tuple and rendered after the responses of the turn were written. structlog is imported when the
first line is rendered, a moment after the start, because that takes as long as the first consumer needs to join.

`serve` renders and writes in a thread (`line_writer.py`): if a pipe has no reader, lines are dropped and counted.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO

from kohort.base.clock import Clock, SystemClock
from kohort.base.lean_imports import without
from kohort.base.visible import visible, visible_lines

if TYPE_CHECKING:
    from structlog.typing import Processor

    from kohort.base.line_writer import LineWriter

LEVELS = ("debug", "info", "warning", "error")

LONGEST_TEXT = 4_000  # characters of a line on the console

AROUND_TEXT = 150  # approximate bytes of a line in addition to its text

# Maximum number of lines that wait to be rendered; when there are more, all are rendered immediately.
LINES_WAITING = 1_000


class Line(NamedTuple):
    """A line that is not rendered yet."""

    wall_ms: int
    level: str
    text: str  # the sentence for people
    values: Mapping[str, object]  # the parts of the text by name; only JSON lines contain them
    trace: str = ""  # the traceback of a bug in kohort; begins with a line end


class Log:
    """The destination of log lines. There is one, `log`; `serve` configures it."""

    def __init__(self) -> None:
        self.debug_enabled = False  # callers check it before they create a line at debug
        self.info_enabled = True  # callers check it before they create an expensive line at info
        self.clock: Clock = SystemClock()
        # Schedules a function for an idle moment. Without it lines are rendered immediately.
        self.later: Callable[[Callable[[], None]], object] | None = None
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
        """Configure level, format and destination.

        Lines below `level` are dropped; the others go to `writer`, or else to `stream`, or else to stderr. Writing to a
        stream may block, a writer never does.
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
        self._put("debug", text, values)

    def info(self, text: str, **values: object) -> None:
        self._put("info", text, values)

    def warning(self, text: str, **values: object) -> None:
        self._put("warning", text, values)

    def error(self, text: str, error: BaseException | None = None, **values: object) -> None:
        """Log a bug with a traceback, and write it immediately.

        Args:
            error: The exception, by default the one that is being handled.
        """
        error = error or sys.exc_info()[1]
        trace = ""
        if error is not None:
            from traceback import format_exception

            trace = "\n" + "".join(format_exception(error)).rstrip()
        self._put("error", text, values, trace)
        self.flush()

    def flush(self) -> None:
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
            pass  # without a reader of its log the broker continues to serve

    def close(self) -> None:
        self.flush()
        if self._writer is not None:
            self._writer.close()

    def _write_behind(self, writer: LineWriter, lines: list[Line]) -> None:
        for line in lines:
            writer.write(partial(self._bytes, line), AROUND_TEXT + len(line.text) + len(line.trace))

    def _notice(self, dropped: int) -> bytes:
        text = f"log lines dropped here: {dropped}; they were not read in time, or the disk is full"
        clock = self.clock
        return self._bytes(Line(clock.now_ms() + clock.epoch_ms, "warning", text, {"dropped": dropped}))

    def _bytes(self, line: Line) -> bytes:
        assert self._writer is not None, "called by the writer"
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
    """Shorten a text to a few screens: a client may choose a group id of 32 KB. JSON lines contain all of it."""
    excess = len(text) - LONGEST_TEXT
    return text if excess <= 0 else f"{text[:LONGEST_TEXT]}… and {excess:,} characters more"


def _set_in(trace: str) -> str:
    """Show a traceback indented, since names in it may contain line ends: no line of it must look like a log line."""
    return visible_lines(trace).replace("\n", "\n  | ")


class LibraryLines(logging.Handler):
    """A handler that logs records of libraries in our format.

    uvicorn and asyncio would write to stderr, which may block.
    """

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        text = f"{record.name}: {record.getMessage().strip()}"
        if record.levelno >= logging.ERROR:
            log.error(text, error)
        else:
            log.warning(text)


log = Log()
