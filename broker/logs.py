"""Log lines: values first, text or JSON last, and never in anybody's way.

A line is put down as a tuple and rendered when the replies of the turn have gone out. structlog is loaded with the
first line that is rendered, a moment after start: it takes as long to load as a first consumer needs to join.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TextIO

from kohort.broker.clock import Clock, SystemClock
from kohort.broker.lean_imports import without

if TYPE_CHECKING:
    from structlog.typing import Processor

LEVELS = ("debug", "info", "warning", "error")

LINES_WAITING = 1_000
"""Lines that may wait to be rendered; more are rendered at once."""


class Line(NamedTuple):
    """One line, before it is text."""

    wall_ms: int
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
        self.info_enabled = True
        """The same for lines that take some making."""
        self.clock: Clock = SystemClock()
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
        self.info_enabled = level in ("debug", "info")
        self._json = json
        self._stream = stream
        self._render = None

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
        if problem is not None:
            from traceback import format_exception

            text = text + "\n" + "".join(format_exception(problem)).rstrip()
        self._put("error", text, values)
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

    def _put(self, level: str, text: str, values: Mapping[str, object]) -> None:
        if LEVELS.index(level) < self._threshold:
            return
        clock = self.clock
        self._waiting.append(Line(clock.now_ms() + clock.epoch_ms, level, text, values))
        if self.later is None or len(self._waiting) > LINES_WAITING:
            self.flush()
        elif len(self._waiting) == 1:
            self.later(self.flush)


def _renderer(json: bool, stream: TextIO) -> Callable[[Line], str]:
    with without("rich"):
        import structlog
    if json:
        write: Processor = structlog.processors.JSONRenderer(default=str)
    else:
        write = structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0, pad_level=False)

    def render(line: Line) -> str:
        moment = datetime.fromtimestamp(line.wall_ms / 1000, UTC)
        if json:
            event: dict[str, object] = {
                "timestamp": moment.isoformat(timespec="milliseconds"),
                "level": line.level,
                "event": line.text,
            }
            event.update(line.values)
        else:
            local = moment.astimezone().strftime("%H:%M:%S.%f")[:-3]
            event = {"timestamp": local, "level": line.level, "event": line.text}
        return str(write(None, line.level, event))

    return render


log = Log()
