"""What commands print: lines in which names of others can't do anything, or the answers themselves as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kohort.protocol.visible import visible

_answers: ContextVar[list[object] | None] = ContextVar("_answers", default=None)
"""The answers that are to be printed as JSON; None: lines are printed."""


def say(line: str = "", *, err: bool = False, data: bool = False) -> None:
    """Prints one line, to stdout or to stderr. What is not printable in it is shown as an escape.

    Where answers are printed as JSON, stdout gets no lines, but for those that are data themselves.
    """
    if err or data or _answers.get() is None:
        _echo(visible(line), err=err)


def note_answer(answer: object) -> None:
    """Keeps an answer that may have to be printed."""
    answers = _answers.get()
    if answers is not None:
        answers.append(answer)


@contextmanager
def answers_as_json() -> Iterator[None]:
    """At its end the answers that came within are printed as JSON: one as it is, several as a list."""
    answers: list[object] = []
    before = _answers.set(answers)
    try:
        yield
    finally:
        _answers.reset(before)
        if answers:
            import json  # not for a broker, which answers nobody here

            _echo(json.dumps(answers[0] if len(answers) == 1 else answers))


def _echo(text: str, *, err: bool = False) -> None:
    import click  # not for a broker that has nothing to say but its log

    click.echo(text, err=err)
