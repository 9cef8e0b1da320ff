"""How the subcommands of `kohort admin` speak with a broker's control address."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from http.client import HTTPException
from typing import Any, NoReturn, TypeVar, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click

from kohort.broker.control_token import TokenError, checked
from kohort.broker.control_token import headers as token_headers
from kohort.broker.control_url import control_url, shown
from kohort.broker.json_answer import read_json
from kohort.cli.output import answers_as_json, note_answer, say

TIMEOUT_S = 30
AS_JSON = "kohort.ctl.json"
"""Set in a context's `meta` where answers are printed as they are."""

Command = TypeVar("Command", bound=Callable[..., Any])


def _checked(_: click.Context, __: click.Parameter, token: str) -> str:
    try:
        return checked(token)
    except TokenError as problem:
        raise click.BadParameter(str(problem)) from None


token_option = click.option(
    "--token",
    default="",
    metavar="TOKEN",
    envvar="KOHORT_CONTROL_TOKEN",
    show_envvar=True,
    callback=_checked,
    help="If it wants one.",
)


def control_options(command: Command) -> Command:
    """Where the broker is, and its token. What answers otherwise than a kohort ends the command with a sentence."""

    @wraps(command)
    def asked(*arguments: Any, control: str, **options: Any) -> Any:
        control = shown(control)
        as_json = click.get_current_context().meta.get(AS_JSON, False)
        try:
            with answers_as_json() if as_json else nullcontext():
                return command(*arguments, control=control, **options)
        except (LookupError, TypeError, AttributeError, ValueError) as problem:
            fail(f"what answers at {control} is no control address of kohort's: {problem!r}")

    return click.option(
        "--control",
        default="127.0.0.1:9099",
        show_default=True,
        metavar="[http[s]://]HOST:PORT",
        envvar="KOHORT_CONTROL",
        show_envvar=True,
        help="As given to `kohort serve --control`. SSL_CERT_FILE names the authority of an https:// address.",
    )(token_option(cast(Command, asked)))


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
    headers = {"Content-Type": "application/json"} | token_headers(token)
    data = None if body is None else json.dumps(body).encode()
    try:
        request = Request(control_url(control) + path, data, headers, method=method or ("POST" if post else "GET"))
        with urlopen(request, timeout=timeout_s) as answer:
            found = read_json(answer)
    except HTTPError as problem:
        (refused or fail)(detail(problem))
    except (OSError, ValueError, HTTPException) as problem:
        nobody_answers(control, problem)
    note_answer(found)
    return found


def nobody_answers(control: str, problem: Exception) -> NoReturn:
    """Says so, and ends with exit code 1."""
    reason = getattr(problem, "reason", problem)
    fail(f"no control address answers at {control}: {reason}; start the broker with `kohort serve --control`")


def detail(problem: HTTPError) -> str:
    """The sentence of a refusal."""
    try:
        return str(read_json(problem)["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"what answers is no control address of kohort's: {problem}"


def fail(sentence: str) -> NoReturn:
    """Says why not, and ends with exit code 1."""
    say(f"kohort: {sentence}", err=True)
    sys.exit(1)
