"""`kohort ctl groups`."""

from typing import Any
from urllib.parse import quote, urlencode

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def groups(context: click.Context) -> None:
    """Show groups, wait for one, print what happened to it."""
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
    state = ask(control, token, f"/groups/{quote(group, safe='')}")
    _show(state)
    for member in state["members"]:
        parts = [f"{topic} {', '.join(map(str, each))}" for topic, each in member["partitions"].items()]
        waits = f", waits for its {member['waits_for']}" if member["waits_for"] else ""
        name = member["instance_id"] or member["client_id"]
        epoch = "" if state["type"] == "classic" else f", epoch {member['epoch']}, {member['speaks']}"
        say(f"  {name}@{member['client_host']}{epoch}{waits}: {'; '.join(parts) or 'nothing'}")


@groups.command()
@click.argument("group")
@click.option("--state", default="Stable", show_default=True)
@click.option("--members", type=int, help="Exactly this many of them.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="In seconds.")
@control_options
def wait(group: str, state: str, members: int | None, timeout: float, control: str, token: str) -> None:
    """Wait until GROUP is in a state; exit code 1 when that does not come about in time."""
    asked: dict[str, Any] = {"state": state, "timeout": timeout} | ({} if members is None else {"members": members})
    _show(ask(control, token, f"/groups/{quote(group, safe='')}/wait?{urlencode(asked)}", timeout_s=timeout + 30))


@groups.command()
@click.argument("group")
@control_options
def history(group: str, control: str, token: str) -> None:
    """Print the rebalances of GROUP, a line each: cause, outcome, how long, who was waited for, what moved."""
    from kohort.control.history import Rebalance

    for each in ask(control, token, f"/groups/{quote(group, safe='')}/history"):
        say(str(Rebalance(**each)))


@groups.command()
@click.argument("group")
@control_options
def offsets(group: str, control: str, token: str) -> None:
    """Print what GROUP has committed, and its lag, by partition."""
    state = ask(control, token, f"/groups/{quote(group, safe='')}")
    for name, lag in state["lag"].items():
        say(f"{name}: {state['offsets'].get(name, 'nothing')}, lag {lag}")


@groups.command()
@click.argument("group")
@click.option("--to", default="earliest", show_default=True, help="earliest, latest, or an offset.")
@click.option("--topic", help="In all its partitions; left out: where the group has committed.")
@control_options
def reset(group: str, to: str, topic: str | None, control: str, token: str) -> None:
    """Set GROUP, which has no members, to the earliest offsets, to the latest, or to one."""
    body = {"to": int(to) if to.isdecimal() else to, "topic": topic}
    _show(ask(control, token, f"/groups/{quote(group, safe='')}/reset", body, post=True))


@groups.command()
@click.argument("group")
@control_options
def delete(group: str, control: str, token: str) -> None:
    """Delete GROUP, which has no members, with what it has committed."""
    ask(control, token, f"/groups/{quote(group, safe='')}", method="DELETE")


@groups.command()
@click.argument("group")
@control_options
def timeline(group: str, control: str, token: str) -> None:
    """Print everything that happened to GROUP, a line an event."""
    for line in ask(control, token, f"/groups/{quote(group, safe='')}/timeline"):
        say(line)


@groups.command()
@click.argument("group")
@control_options
def explain(group: str, control: str, token: str) -> None:
    """Say whom GROUP waits for and until when, what each client should do, what is badly set."""
    for line in ask(control, token, f"/groups/{quote(group, safe='')}/explanation"):
        say(line)


def _show(group: dict[str, Any]) -> None:
    count = "generation" if group["type"] == "classic" else "epoch"
    kind = "share group, " if group["type"] == "share" else ""
    say(
        f"{group['id']}: {kind}{group['state']}, {count} {group['generation']}, {len(group['members'])} members, "
        f"coordinator {group['coordinator']}"
    )
