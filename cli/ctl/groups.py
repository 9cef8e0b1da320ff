"""`kohort ctl groups`."""

from typing import Any
from urllib.parse import quote, urlencode

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say
from kohort.groups.type_words import CLASSIC, words_of


@click.group(invoke_without_command=True)
@click.pass_context
def groups(context: click.Context) -> None:
    """Show groups, wait for a state, print what happened to a group."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@groups.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List all groups."""
    for group in ask(control, token, "/groups"):
        _show(group)


@groups.command()
@click.argument("group")
@control_options
def show(group: str, control: str, token: str) -> None:
    """Show GROUP with its members."""
    _show_members(ask(control, token, f"/groups/{quote(group, safe='')}"))


@groups.command()
@click.argument("group")
@control_options
def describe(group: str, control: str, token: str) -> None:
    """Show GROUP with its members, committed offsets and lag."""
    state = ask(control, token, f"/groups/{quote(group, safe='')}")
    _show_members(state)
    _show_offsets(state)


def _show_members(state: dict[str, Any]) -> None:
    _show(state)
    for member in state["members"]:
        parts = [f"{topic} {', '.join(map(str, numbers))}" for topic, numbers in member["partitions"].items()]
        waits = f", waits for its {member['waits_for']}" if member["waits_for"] else ""
        name = member["instance_id"] or member["client_id"]
        epoch = "" if state["type"] == CLASSIC else f", epoch {member['epoch']}, {member['speaks']}"
        say(f"  {name}@{member['client_host']}{epoch}{waits}: {'; '.join(parts) or 'nothing'}")


@groups.command()
@click.argument("group")
@click.option("--state", default="Stable", show_default=True)
@click.option("--members", type=int, help="Exactly this many members.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait.")
@control_options
def wait(group: str, state: str, members: int | None, timeout: float, control: str, token: str) -> None:
    """Wait until GROUP is in a state. Exit code 1: timeout."""
    query: dict[str, Any] = {"state": state, "timeout": timeout} | ({} if members is None else {"members": members})
    _show(ask(control, token, f"/groups/{quote(group, safe='')}/wait?{urlencode(query)}", timeout_s=timeout + 30))


@groups.command()
@click.argument("group")
@control_options
def history(group: str, control: str, token: str) -> None:
    """Print the rebalances of GROUP, one per line: cause, outcome, duration, awaited members, moved partitions."""
    from kohort.control.history.history import Rebalance

    for rebalance in ask(control, token, f"/groups/{quote(group, safe='')}/history"):
        say(str(Rebalance(**rebalance)))


@groups.command()
@click.argument("group")
@control_options
def offsets(group: str, control: str, token: str) -> None:
    """Print the committed offsets of GROUP and its lag, by partition."""
    _show_offsets(ask(control, token, f"/groups/{quote(group, safe='')}"))


def _show_offsets(state: dict[str, Any]) -> None:
    for name, lag in state["lag"].items():
        say(f"{name}: {state['offsets'].get(name, 'nothing')}, lag {lag}")


@groups.command()
@click.argument("group")
@click.option("--to", default="earliest", show_default=True, help="earliest, latest, or an offset.")
@click.option("--topic", help="All partitions of this topic.  [default: partitions with a committed offset]")
@control_options
def reset(group: str, to: str, topic: str | None, control: str, token: str) -> None:
    """Reset the offsets of GROUP, which must have no members, to the earliest, the latest, or a given one."""
    body = {"to": int(to) if to.isdecimal() else to, "topic": topic}
    _show(ask(control, token, f"/groups/{quote(group, safe='')}/reset", body, post=True))


@groups.command()
@click.argument("group")
@control_options
def delete(group: str, control: str, token: str) -> None:
    """Delete GROUP, which must have no members, with its offsets."""
    ask(control, token, f"/groups/{quote(group, safe='')}", method="DELETE")


@groups.command()
@click.argument("group")
@control_options
def timeline(group: str, control: str, token: str) -> None:
    """Print the events of GROUP, one per line."""
    for line in ask(control, token, f"/groups/{quote(group, safe='')}/timeline"):
        say(line)


@groups.command()
@click.argument("group")
@control_options
def explain(group: str, control: str, token: str) -> None:
    """Describe the members that GROUP waits for and until when, the next step of each client, and doubtful settings."""
    for line in ask(control, token, f"/groups/{quote(group, safe='')}/explanation"):
        say(line)


def _show(group: dict[str, Any]) -> None:
    words = words_of(group["type"])
    noun = "" if words.noun == "group" else f"{words.noun}, "
    say(
        f"{group['id']}: {noun}{group['state']}, {words.version} {group['generation']}, "
        f"{len(group['members'])} members, "
        f"coordinator {group['coordinator']}"
    )
