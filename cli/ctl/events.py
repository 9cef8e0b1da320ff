"""`kohort ctl events`."""

from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import click

from kohort.base.control_token import headers
from kohort.base.control_url import control_url
from kohort.base.json_answer import LARGEST_ANSWER
from kohort.cli.admin.control_client import control_options, detail, fail, nobody_answers
from kohort.cli.output import say


@click.command()
@click.option("--group", help="Only events of this group.")
@click.option("--past", is_flag=True, help="Print the recorded events first.")
@control_options
def events(group: str | None, past: bool, control: str, token: str) -> None:
    """Print group events as JSON lines as they happen, until Ctrl-C."""
    query = urlencode(({"group": group} if group else {}) | {"past": str(past).lower()})
    try:
        with urlopen(Request(f"{control_url(control)}/events?{query}", headers=headers(token))) as answer:
            while line := answer.readline(LARGEST_ANSWER):
                if line.startswith(b"data: "):
                    say(line[6:].decode("utf-8", "replace").rstrip("\n"), data=True)
    except HTTPError as error:
        fail(detail(error))
    except (OSError, ValueError, HTTPException) as error:
        nobody_answers(control, error)
