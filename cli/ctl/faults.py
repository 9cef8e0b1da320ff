"""`kohort ctl faults`."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from kohort.cli.admin.control_client import ask, control_options, fail
from kohort.cli.extras import needs_extra
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def faults(context: click.Context) -> None:
    """List, add and remove rules that inject faults into requests."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@faults.command("list")
@control_options
def list_(control: str, token: str) -> None:
    """List the rules, and how often each has acted."""
    for rule in ask(control, token, "/faults"):
        _show(rule)


@faults.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@control_options
def add(file: Path, control: str, token: str) -> None:
    """Add the rules of a YAML file, either all or none; `-` is stdin.

    A rule looks like `- {match: {api: Heartbeat, group: billing}, do: drop, times: 2}`.
    """
    name = "stdin" if str(file) == "-" else str(file)
    try:
        with needs_extra("reading rules", "control", exit_code=1):
            from kohort.control.faults.fault_files import read_rules, rules_in

            rules = rules_in(sys.stdin.buffer, name) if name == "stdin" else read_rules(file)
    except ValueError as error:
        fail(str(error))
    added: list[dict[str, Any]] = []

    def refused(sentence: str) -> NoReturn:
        for rule in added:
            ask(control, token, f"/faults/{rule['number']}", method="DELETE")
        fail(
            f"{'stdin' if str(file) == '-' else file}, rule {len(added) + 1}: {sentence}"
            + ("; none of its rules was added" if added else "")
        )

    for definition in rules:
        added.append(ask(control, token, "/faults", definition, post=True, refused=refused))
    for rule in added:
        _show(rule)


_TEXTS = ("group", "client_id", "principal", "member", "instance", "state", "version", "records")
_CONDITIONS: dict[str, type[int | str]] = dict.fromkeys(_TEXTS, str) | dict.fromkeys(("generation", "node"), int)
_ACTIONS: dict[str, tuple[str, str, type[int | float | str]] | None] = {
    "count": None,
    "drop": None,
    "hold": None,
    "close": None,
    "close_after_handling": None,
    "lose_response": None,
    "zombie": None,
    "stale_metadata": None,
    "error": ("name", "NAME", str),
    "delay": ("seconds", "SECONDS", float),
    "delay_response": ("seconds", "SECONDS", float),
    "truncate": ("length", "BYTES", int),
    "as_kafka": ("release", "RELEASE", str),
    "hide_node": ("node", "NODE", int),
}  # argument of the action, its placeholder and type; None: no argument


def _rule_options(command: click.Command) -> click.Command:
    """Add an option for each condition and each action of a rule."""
    for name, kind in _CONDITIONS.items():
        about = f"Condition on the {name.replace('_', ' ')} of a request."
        command.params.append(click.Option([_option(name)], type=kind, help=about))
    for name, argument in _ACTIONS.items():
        names, about = [_option(name), f"do_{name}"], f"Action {name}."
        if argument is None:
            command.params.append(click.Option(names, is_flag=True, help=about))
        else:
            _, metavar, argument_type = argument
            command.params.append(click.Option(names, type=argument_type, metavar=metavar, help=about))
    return command


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


@_rule_options
@faults.command()
@click.argument("api", default="*")
@click.option("--times", type=click.IntRange(1), help="Act on at most this many requests.")
@click.option("--nth", type=click.IntRange(1), help="Act from the n-th matching request on.")
@click.option("--probability", type=click.FloatRange(0, 1, min_open=True), help="Act with this probability.")
@control_options
def on(api: str, control: str, token: str, **options: Any) -> None:
    """Add one rule for requests of API, or of any, as in `on JoinGroup --group billing --hold`."""
    actions = [name for name in _ACTIONS if options[f"do_{name}"] not in (None, False)]
    if len(actions) != 1:
        names = " and ".join(map(_option, actions)) or "none"
        raise click.UsageError(f"expected one action, such as --hold or --error NAME; got {names}")
    (do,) = actions
    argument = _ACTIONS[do]
    conditions = {name: options[name] for name in _CONDITIONS if options[name] is not None}
    rule: dict[str, Any] = {
        "match": {"api": api} | conditions,
        "do": do,
        "with": {} if argument is None else {argument[0]: options[f"do_{do}"]},
    }
    triggers = {name: options[name] for name in ("times", "nth", "probability") if options[name] is not None}
    _show(ask(control, token, "/faults", rule | triggers, post=True))


@faults.command()
@click.argument("group")
@click.argument("member", required=False)
@control_options
def freeze(group: str, member: str | None, control: str, token: str) -> None:
    """Freeze MEMBER of GROUP (a member id, instance id or client id), or all members, until the rule ends."""
    _show(ask(control, token, "/faults/freeze", {"group": group, "member": member}, post=True))


@faults.command()
@click.argument("number", type=int)
@click.option(
    "--times",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of requests, counted since the rule was added.",
)
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait.")
@control_options
def wait(number: int, times: int, timeout: float, control: str, token: str) -> None:
    """Wait until rule NUMBER has acted on --times requests."""
    query = f"times={times}&timeout={timeout:g}"
    _show(ask(control, token, f"/faults/{number}/wait?{query}", timeout_s=timeout + 10))


@faults.command()
@click.argument("number", type=int, required=False)
@control_options
def remove(number: int | None, control: str, token: str) -> None:
    """Remove rule NUMBER, or all rules, and process the requests that they hold."""
    ask(control, token, "/faults" if number is None else f"/faults/{number}", method="DELETE")


def _show(rule: dict[str, object]) -> None:
    say(f"{rule['text']} (seen {rule['seen']}, acted {rule['acted']})")
