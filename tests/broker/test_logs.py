"""Log lines: each entry is one line, whatever names it contains."""

from __future__ import annotations

import json
import logging
from io import StringIO

import pytest

from kohort.base.logs import LibraryLines, log

FORGED = "g\n12:00:00.000 [info] group payments: Stable -> Dead\x1b[2J\u202e\ud800"


def test_names_are_escaped(lines: StringIO) -> None:
    log.info(f"group {FORGED}: Empty -> Stable")
    (line,) = lines.getvalue().splitlines()
    assert line.endswith(
        "group g\\n12:00:00.000 [info] group payments: Stable -> Dead\\u001b[2J\\u202e\\ud800: Empty -> Stable"
    )


def test_nor_does_one_in_a_traceback(lines: StringIO) -> None:
    log.error("a bug", ValueError(FORGED))
    first, *others = lines.getvalue().splitlines()
    assert first.endswith("[error] a bug")
    assert all(line.startswith("  | ") for line in others)
    assert "\x1b" not in lines.getvalue()


def test_json_escapes_by_itself() -> None:
    stream = StringIO()
    log.configure(json=True, stream=stream)
    try:
        log.error(FORGED, ValueError(FORGED), group=FORGED)
    finally:
        log.configure()
    (line,) = stream.getvalue().splitlines()
    assert line.isascii()
    assert json.loads(line)["group"] == FORGED


def test_library_logs_use_our_format(lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("tests.a_library")
    # pytest captures what reaches the root logger, and pytest-xdist cannot send half a surrogate pair.
    monkeypatch.setattr(logger, "propagate", False)
    logger.addHandler(handler := LibraryLines(logging.WARNING))
    try:
        logger.warning("%s is slow", "it")
        try:
            raise ValueError(FORGED)
        except ValueError:
            logger.exception("it broke\n")
    finally:
        logger.removeHandler(handler)
    output = lines.getvalue()
    assert "[warning] tests.a_library: it is slow" in output
    assert "[error] tests.a_library: it broke\n  | Traceback" in output


def test_long_name_is_cut_on_console(lines: StringIO) -> None:
    log.info(f"group {'x' * 32_000}: Empty -> Stable")
    (line,) = lines.getvalue().splitlines()
    assert line.endswith("x… and 28,023 characters more")
