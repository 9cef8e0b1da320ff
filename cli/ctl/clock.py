"""`kohort ctl clock`."""

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.output import say

MAX_JUMP_S = 600  # timeout of a response, in real seconds: a jump may stop many times to wait for members


@click.group(invoke_without_command=True)
@click.pass_context
def clock(context: click.Context) -> None:
    """Pause, run or advance the brokers' clock. Only their timers use it."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@clock.command()
@control_options
def show(control: str, token: str) -> None:
    """Show the time, and whether the clock runs."""
    _show(ask(control, token, "/clock"))


@clock.command()
@control_options
def pause(control: str, token: str) -> None:
    """Pause the clock: no session expires, and no rebalance times out."""
    _show(ask(control, token, "/clock/pause", post=True))


@clock.command()
@click.option("--scale", type=click.FloatRange(0, min_open=True), help="Speed, relative to the machine's clock.")
@control_options
def run(scale: float | None, control: str, token: str) -> None:
    """Run the clock."""
    _show(ask(control, token, "/clock/run", {"scale": scale}, post=True))


@clock.command()
@click.argument("seconds", type=click.FloatRange(0))
@click.option("--expire-live-members", is_flag=True, help="Expire the sessions of live members, too.")
@click.option(
    "--patience",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Wait at most this many real seconds for each live member that a group waits for.",
)
@control_options
def advance(seconds: float, expire_live_members: bool, patience: float, control: str, token: str) -> None:
    """Advance the clock by SECONDS, firing every timer on the way."""
    body = {"seconds": seconds, "expire_live_members": expire_live_members, "patience": patience}
    state = ask(control, token, "/clock/advance", body, post=True, timeout_s=MAX_JUMP_S + patience)
    _show(state)
    for line in state["went_on_without"]:
        say(line, err=True)


def _show(state: dict[str, object]) -> None:
    how = "is paused" if state["paused"] else f"runs, {state['scale']} times as fast as the machine's"
    now_ms = state["now_ms"]
    assert isinstance(now_ms, int)
    say(f"{now_ms / 1000:.3f} s since start; it {how}")
