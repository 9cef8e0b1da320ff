"""Client of a broker's control address, for `kohort admin` and `kohort ctl`."""

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

from kohort.base.control_token import TokenError, checked
from kohort.base.control_token import headers as token_headers
from kohort.base.control_url import control_url, display_address
from kohort.base.json_answer import read_json
from kohort.cli.output import answers_as_json, note_answer, say

TIMEOUT_S = 30
AS_JSON = "kohort.ctl.json"  # key of a context's `meta`: print responses as JSON

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
    help="Token of the control address, if it requires one.",
)


def control_options(command: Command) -> Command:
    """Add `--control` and `--token`; exit with code 1 if a response is not kohort's."""

    @wraps(command)
    def with_control(*arguments: Any, control: str, **options: Any) -> Any:
        control = display_address(control)
        as_json = click.get_current_context().meta.get(AS_JSON, False)
        try:
            with answers_as_json() if as_json else nullcontext():
                return command(*arguments, control=control, **options)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            fail(f"the server at {control} is not a control address of kohort: {error!r}")

    return click.option(
        "--control",
        default="127.0.0.1:9099",
        show_default=True,
        metavar="[http[s]://]HOST:PORT",
        envvar="KOHORT_CONTROL",
        show_envvar=True,
        help="The address of `kohort serve --control`. SSL_CERT_FILE names the authority of an https:// address.",
    )(token_option(cast(Command, with_control)))


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
    """Send a request to the control address and return its response. On any error, print it and exit with code 1.

    Args:
        refused: Handles an error response instead.
    """
    headers = {"Content-Type": "application/json"} | token_headers(token)
    data = None if body is None else json.dumps(body).encode()
    try:
        request = Request(control_url(control) + path, data, headers, method=method or ("POST" if post else "GET"))
        with urlopen(request, timeout=timeout_s) as answer:
            content = read_json(answer)
    except HTTPError as error:
        (refused or fail)(detail(error))
    except (OSError, ValueError, HTTPException) as error:
        nobody_answers(control, error)
    note_answer(content)
    return content


def nobody_answers(control: str, error: Exception) -> NoReturn:
    reason = getattr(error, "reason", error)
    fail(f"cannot reach a control address at {control}: {reason}; start the broker with `kohort serve --control`")


def detail(error: HTTPError) -> str:
    try:
        return str(read_json(error)["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"the server is not a control address of kohort: {error}"


def fail(message: str) -> NoReturn:
    say(f"kohort: {message}", err=True)
    sys.exit(1)
