"""`kohort ctl clock`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say

LONGEST_JUMP_S = 600
"""How long an answer is waited for, in real seconds: a jump may halt many times."""


@click.group(invoke_without_command=True)
@click.pass_context
def clock(context: click.Context) -> None:
    """Pause the brokers' clock, let it run, let it jump. Only their timers follow it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@clock.command()
@control_options
def show(control: str, token: str) -> None:
    """Show where it stands."""
    _show(ask(control, token, "/clock"))


@clock.command()
@control_options
def pause(control: str, token: str) -> None:
    """Let it stand still: no session ends, no rebalance times out."""
    _show(ask(control, token, "/clock/pause", post=True))


@clock.command()
@click.option("--scale", type=click.FloatRange(0, min_open=True), help="How many times as fast as the machine's.")
@control_options
def run(scale: float | None, control: str, token: str) -> None:
    """Let it go on."""
    _show(ask(control, token, "/clock/run", {"scale": scale}, post=True))


@clock.command()
@click.argument("seconds", type=click.FloatRange(0))
@click.option("--expire-live-members", is_flag=True, help="Let sessions of live members end too.")
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Where a group waits for a live member, wait at most this many real seconds for it.",
)
@control_options
def advance(seconds: float, expire_live_members: bool, patience: float, control: str, token: str) -> None:
    """Let it jump by SECONDS; everything that falls due on the way happens."""
    body = {"seconds": seconds, "expire_live_members": expire_live_members, "patience": patience}
    state = ask(control, token, "/clock/advance", body, post=True, timeout_s=LONGEST_JUMP_S + patience)
    _show(state)
    for line in state["went_on_without"]:
        say(line, err=True)


def _show(state: dict[str, object]) -> None:
    how = "stands still" if state["paused"] else f"runs, {state['scale']} times as fast as the machine's"
    now_ms = state["now_ms"]
    assert isinstance(now_ms, int)
    say(f"{now_ms / 1000:.3f} s since start; it {how}")
