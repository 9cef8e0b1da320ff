"""Output of commands: lines with unprintable characters escaped, or the responses themselves as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from kohort.base.visible import visible

# responses to be printed as JSON, or None if lines are printed
_answers: ContextVar[list[object] | None] = ContextVar("_answers", default=None)


def say(line: str = "", *, err: bool = False, data: bool = False) -> None:
    """Print one line to stdout or stderr, with unprintable characters escaped.

    With --json, stdout receives only lines with `data`.
    """
    if err or data or _answers.get() is None:
        _echo(visible(line), err=err)


def note_answer(answer: object) -> None:
    answers = _answers.get()
    if answers is not None:
        answers.append(answer)


@contextmanager
def answers_as_json() -> Iterator[None]:
    """Collect the responses within the block, and print them as JSON at its end: one as it is, several as a list."""
    answers: list[object] = []
    token = _answers.set(answers)
    try:
        yield
    finally:
        _answers.reset(token)
        if answers:
            import json  # not needed by `kohort serve`

            _echo(json.dumps(answers[0] if len(answers) == 1 else answers))


def _echo(text: str, *, err: bool = False) -> None:
    import click  # not needed by `kohort serve`, which only logs

    click.echo(text, err=err)
