"""`kohort ctl shares`."""

from typing import Any
from urllib.parse import quote, urlencode

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def shares(context: click.Context) -> None:
    """Show and release the records that members of a share group hold."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@shares.command()
@click.argument("group")
@control_options
def show(group: str, control: str, token: str) -> None:
    """Show the progress of GROUP in each partition."""
    _show(ask(control, token, _path(group)))


@shares.command("in-flight")
@click.argument("group")
@click.option("--topic", help="Only this topic.")
@control_options
def in_flight(group: str, topic: str | None, control: str, token: str) -> None:
    """Print the records of GROUP that are in flight: member, remaining lock time, delivery count."""
    query = "" if topic is None else f"?{urlencode({'topic': topic})}"
    for state_batch in ask(control, token, f"{_path(group)}/in-flight{query}"):
        held = (
            f" by {state_batch['holder']} for {(state_batch['ends_in_ms'] or 0) / 1000:g} s"
            if state_batch["holder"]
            else ""
        )
        offsets = f"{state_batch['first_offset']}-{state_batch['last_offset']}"
        location = f"{state_batch['topic']}-{state_batch['partition']} {offsets}"
        say(f"{location}: {state_batch['state']}{held}, delivery count {state_batch['delivery_count']}")


@shares.command("dead-letters")
@click.argument("group")
@control_options
def dead_letters(group: str, control: str, token: str) -> None:
    """Print the dead letters of GROUP: for which records they are, and why."""
    for letter in ask(control, token, f"{_path(group)}/dead-letters"):
        record = f"{letter['topic']}-{letter['partition']} {letter['offset']}"
        location = f"{letter['dead_letter_topic']}-{letter['record']['partition']} {letter['record']['offset']}"
        say(f"{record}: in {location}, delivery count {letter['delivery_count']}, {letter['message']}")


@shares.command()
@click.argument("group")
@click.argument("topic")
@click.argument("partition", type=int)
@click.argument("offset", type=int)
@control_options
def explain_record(group: str, topic: str, partition: int, offset: int, control: str, token: str) -> None:
    """Explain why a record is not delivered."""
    record = f"records/{quote(topic, safe='')}/{partition}/{offset}"
    say(ask(control, token, f"{_path(group)}/{record}")["explanation"])


@shares.command()
@click.argument("group")
@click.option("--topic", help="Only this topic.")
@click.option("--partition", type=int, help="Only this partition of the topic.")
@click.option("--member", help="Only members with this member id or client id.")
@control_options
def redeliver(group: str, control: str, token: str, **filters: Any) -> None:
    """Release the records that members of GROUP hold, as if their locks had expired."""
    count = ask(control, token, f"{_path(group)}/redeliver", filters, post=True)["records"]
    say(f"{count} records")


@shares.command()
@click.argument("group")
@click.option("--accepted", type=int, help="Wait until this many records were accepted instead.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait.")
@control_options
def wait(group: str, accepted: int | None, timeout: float, control: str, token: str) -> None:
    """Wait until no records of GROUP remain. Exit code 1: timeout."""
    query: dict[str, Any] = {"timeout": timeout} | ({} if accepted is None else {"accepted": accepted})
    _show(ask(control, token, f"{_path(group)}/wait?{urlencode(query)}", timeout_s=timeout + 30))


def _path(group: str) -> str:
    return f"/share-groups/{quote(group, safe='')}"


def _show(state: dict[str, Any]) -> None:
    say(f"{state['id']}: {state['state']}, epoch {state['generation']}, {state['size']} members")
    for partition in state["partitions"]:
        start = "start not yet known" if partition["start_offset"] is None else f"start {partition['start_offset']}"
        lag = "unknown" if partition["lag"] is None else partition["lag"]
        topic_partition = f"{partition['topic']}-{partition['partition']}"
        say(f"  {topic_partition}: {partition['progress']}, {start}, {partition['acquired']} held, lag {lag}")
