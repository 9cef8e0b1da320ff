"""`kohort ctl shares`."""

from typing import Any
from urllib.parse import quote, urlencode

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def shares(context: click.Context) -> None:
    """Show who holds which records of a share group, and take them away."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@shares.command()
@click.argument("group")
@control_options
def show(group: str, control: str, token: str) -> None:
    """Show how far GROUP is with each partition."""
    _show(ask(control, token, _path(group)))


@shares.command("in-flight")
@click.argument("group")
@click.option("--topic", help="Left out: all.")
@control_options
def in_flight(group: str, topic: str | None, control: str, token: str) -> None:
    """Print who holds which records of GROUP, until when, and how often each was delivered."""
    query = "" if topic is None else f"?{urlencode({'topic': topic})}"
    for each in ask(control, token, f"{_path(group)}/in-flight{query}"):
        held = f" by {each['holder']} for {(each['ends_in_ms'] or 0) / 1000:g} s" if each["holder"] else ""
        offsets = f"{each['first_offset']}-{each['last_offset']}"
        where = f"{each['topic']}-{each['partition']} {offsets}"
        say(f"{where}: {each['state']}{held}, delivery count {each['delivery_count']}")


@shares.command()
@click.argument("group")
@click.argument("topic")
@click.argument("partition", type=int)
@click.argument("offset", type=int)
@control_options
def explain_record(group: str, topic: str, partition: int, offset: int, control: str, token: str) -> None:
    """Explain why a record is not delivered."""
    where = f"records/{quote(topic, safe='')}/{partition}/{offset}"
    say(ask(control, token, f"{_path(group)}/{where}")["explanation"])


@shares.command()
@click.argument("group")
@click.option("--topic", help="Left out: all.")
@click.option("--partition", type=int, help="Of the topic; left out: all.")
@click.option("--member", help="A member id or a client id; left out: all.")
@control_options
def redeliver(group: str, control: str, token: str, **which: Any) -> None:
    """Let others have what members of GROUP hold, as if their locks had expired."""
    taken = ask(control, token, f"{_path(group)}/redeliver", which, post=True)["records"]
    say(f"{taken} records")


@shares.command()
@click.argument("group")
@click.option("--accepted", type=int, help="Until so many records were accepted; left out: until none is left.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="In seconds.")
@control_options
def wait(group: str, accepted: int | None, timeout: float, control: str, token: str) -> None:
    """Wait until no record of GROUP is left; exit code 1 when that does not come about in time."""
    asked: dict[str, Any] = {"timeout": timeout} | ({} if accepted is None else {"accepted": accepted})
    _show(ask(control, token, f"{_path(group)}/wait?{urlencode(asked)}", timeout_s=timeout + 30))


def _path(group: str) -> str:
    return f"/share-groups/{quote(group, safe='')}"


def _show(state: dict[str, Any]) -> None:
    say(f"{state['id']}: {state['state']}, epoch {state['generation']}, {state['size']} members")
    for each in state["partitions"]:
        start = "a start to be decided" if each["start_offset"] is None else f"start {each['start_offset']}"
        lag = "unknown" if each["lag"] is None else each["lag"]
        where = f"{each['topic']}-{each['partition']}"
        say(f"  {where}: {each['progress']}, {start}, {each['acquired']} held, lag {lag}")
