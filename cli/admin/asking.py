"""How the subcommands of `kohort admin` speak with a broker's control address."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click

TIMEOUT_S = 30

Command = TypeVar("Command", bound=Callable[..., Any])


def control_options(command: Command) -> Command:
    """Where the broker is, and its token."""
    command = click.option(
        "--token", default="", metavar="TOKEN", envvar="KOHORT_CONTROL_TOKEN", show_envvar=True, help="If it wants one."
    )(command)
    return click.option(
        "--control",
        default="127.0.0.1:9099",
        show_default=True,
        metavar="HOST:PORT",
        envvar="KOHORT_CONTROL",
        show_envvar=True,
        help="As given to `kohort serve --control`.",
    )(command)


def ask(
    control: str,
    token: str,
    path: str,
    body: object = None,
    *,
    post: bool = False,
    method: str = "",
    timeout_s: float = TIMEOUT_S,
    refused: Callable[[str], NoReturn] | None = None,
) -> Any:
    """What the control address answers. Refusals and failures end the command: exit code 1, one sentence.

    `refused`: what a refusal does instead.
    """
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        request = Request(f"http://{control}{path}", data, headers, method=method or ("POST" if post else "GET"))
        with urlopen(request, timeout=timeout_s) as answer:
            return json.load(answer)
    except HTTPError as problem:
        (refused or fail)(detail(problem))
    except (OSError, ValueError) as problem:
        nobody_answers(control, problem)


def nobody_answers(control: str, problem: Exception) -> NoReturn:
    """Says so, and ends with exit code 1."""
    reason = getattr(problem, "reason", problem)
    fail(f"no control address answers at {control}: {reason}; start the broker with `kohort serve --control`")


def detail(problem: HTTPError) -> str:
    """The sentence of a refusal."""
    try:
        return str(json.load(problem)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"what answers is no control address of kohort's: {problem}"


def fail(sentence: str) -> NoReturn:
    """Says why not, and ends with exit code 1."""
    click.echo(f"kohort: {sentence}", err=True)
    sys.exit(1)
