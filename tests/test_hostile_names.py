"""Names that would command a terminal or forge a line, walked through everything that shows them to a person."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from email.message import Message
from enum import Enum
from io import BytesIO, StringIO
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kohort.base.logs import log
from kohort.cli.commands import main
from kohort.cli.watch.changes import Change
from kohort.cli.watch.snapshot import Snapshot
from kohort.cli.watch.view import line, picture
from kohort.control.http.app import make_app
from kohort.demo.observations import Observations
from kohort.demo.plain import PlainView
from kohort.demo.stage import Stage
from kohort.pipeline import terminal
from kohort.pipeline.analysis.analysis_run import Outcome
from kohort.pipeline.report.svg import esc
from tests.control.talking import Lab
from tests.pipeline.report_rows import finding, health, issue

HOSTILE = "a\x1b[2J\x1b]0;b\x07\n12:00:00.000 [info] c\r\x00\x7f\x9b31m\x85\u2028\u202e\u200f\u200b\ud800"
PLAIN = "a name"
STYLES = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, which are ours."""


def assert_harmless(shown: str) -> None:
    """Nothing but printable lines, in which the name still stands."""
    for each in shown.split("\n"):
        assert each.isprintable(), repr(each)
        assert not each.startswith("12:00:00.000 [info]"), "a forged line"


# The console log, and what the laboratory tells


@pytest.fixture
def console() -> StringIO:
    """What the broker logs."""
    return StringIO()


@pytest.fixture
def hostile_group(console: StringIO) -> Iterator[Lab]:
    """A group whose name is hostile, as all names of its member are."""
    lab = Lab()
    log.configure(level="info", stream=console)
    lab.laboratory.record()
    lab.player.names["group"] = lab.player.names["ada"] = NAME
    lab.talk("given ada shares a stable group")
    yield lab
    lab.stage.close()
    log.configure()


NAME = HOSTILE.removesuffix("\ud800")
"""What can be sent: no UTF-8 has half a surrogate."""


def test_console_log_escapes_names(hostile_group: Lab, console: StringIO) -> None:
    hostile_group.settle()
    told = console.getvalue()
    assert "a\\u001b[2J" in told
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3} \[(info|warning) *\] ", each) for each in told.splitlines())
    assert_harmless(told)


def test_timeline_and_explanation_escape_names(hostile_group: Lab) -> None:
    from kohort.control.groups.lab_group import Group

    group = Group(hostile_group.laboratory, NAME)
    for told in (group.timeline(), str(group.explain())):
        assert "a\\u001b[2J" in told
        assert_harmless(told)
    assert len(group.timeline().splitlines()) == 1 + len(hostile_group.laboratory.recorder.timeline(NAME))


# ctl and admin: every command, whose every answer is made of hostile names


class Answers:
    """A control address that answers every question as its own document says, with one name for every text."""

    def __init__(self, document: dict[str, Any], name: str) -> None:
        self._document = document
        self._name = name
        self.refuses = False

    def __call__(self, request: Request, timeout: float = 0) -> BytesIO:
        if self.refuses:
            body = BytesIO(json.dumps({"detail": self._name}).encode())
            raise HTTPError(request.full_url, 422, "Unprocessable", Message(), body)
        path, method = urlsplit(request.full_url).path, request.get_method().lower()
        if path == "/events":
            text = self._name.encode("utf-8", "replace").decode()
            return BytesIO(b"event: x\ndata: " + json.dumps({"group_id": text}, ensure_ascii=False).encode() + b"\n\n")
        for template, operations in self._document["paths"].items():
            if method in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                good = next(answer for status, answer in operations[method]["responses"].items() if status < "300")
                content = good.get("content", {}).get("application/json", {}).get("schema", {})
                return BytesIO(json.dumps(self._made(content)).encode())
        raise AssertionError(f"the document has no {method} {path}")

    def _made(self, schema: dict[str, Any]) -> Any:
        if "$ref" in schema:
            return self._made(self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return self._made(schema["anyOf"][0])
        match schema.get("type"):
            case "array":
                return [self._made(schema["items"])] * 2
            case "object":
                made = {name: self._made(each) for name, each in schema.get("properties", {}).items()}
                more = schema.get("additionalProperties")
                return made | ({self._name: self._made(more)} if isinstance(more, dict) else {})
            case "integer" | "number":
                return 1
            case "boolean":
                return True
            case "string":
                return schema.get("enum", [self._name])[0]
        return None


def commands(command: click.Command, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of every command below one, with what it must be given."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *words, name)
    else:
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        yield (*words, *(GIVEN.get(str(each.name), "1") for each in arguments), *OPTIONS.get(words, ()))


OPTIONS: dict[tuple[str, ...], tuple[str, ...]] = {("ctl", "faults", "on"): ("--drop",)}  # required options
GIVEN = {"file": "rules.yaml", "folder": "."}
ROOT = click.Context(main)


def asking() -> list[tuple[str, ...]]:
    """All commands that ask a control address."""
    found = [each for name in ("admin", "ctl") for each in commands(_command(name), name)]
    others = (("admin", "acls"), ("admin", "add-scram"), ("admin", "verify"))
    return [each for each in found if each[:2] not in others]


def _command(name: str) -> click.Command:
    found = main.get_command(ROOT, name)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    lab = Lab()
    try:
        return make_app(lab.stage.server, laboratory=lab.laboratory).openapi()
    finally:
        lab.stage.close()


@pytest.mark.parametrize("words", asking(), ids=" ".join)
def test_every_command_that_asks(
    words: tuple[str, ...], document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules.yaml").write_text("- {match: {api: Heartbeat}, do: drop}")
    monkeypatch.chdir(tmp_path)

    def run(name: str, refuses: bool = False) -> Result:
        answers = Answers(document, name)
        answers.refuses = refuses
        monkeypatch.setattr("kohort.cli.admin.control_client.urlopen", answers)
        monkeypatch.setattr("kohort.cli.ctl.events.urlopen", answers)
        return CliRunner().invoke(main, words)

    plain, hostile, refused = run(PLAIN), run(HOSTILE), run(HOSTILE, refuses=True)
    assert plain.exit_code == hostile.exit_code
    assert "Traceback" not in hostile.output
    assert "is not a control address" not in plain.output
    assert_harmless(hostile.output)
    assert hostile.output.count("\n") == plain.output.count("\n")
    assert (PLAIN in plain.output) == ("a\\u001b[2J" in hostile.output)
    assert refused.exit_code == 1
    assert_harmless(refused.output)
    assert "a\\u001b[2J" in refused.output


def test_commands_show_names_at_all(document: dict[str, Any]) -> None:
    assert len(asking()) > 25
    assert ("ctl", "groups", "list") in asking()


# watch, analyze, demo


def made(kind: Any, text: str) -> Any:
    """A value of a type, with one name for every text in it."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{each.name: made(hints[each.name], text) for each in fields(kind)})  # type: ignore[operator]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return made(inner[0], text)
    if origin is tuple:
        return tuple(made(each, text) for each in inner if each is not Ellipsis)
    if origin is not None:
        return {made(inner[0], text): made(inner[1], text)}
    if kind is not str and issubclass(kind, Enum):
        return next(iter(kind))
    return text if kind is str else kind(1)


def test_watch_escapes_names() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=2_000, height=100)
    change = Change(0, HOSTILE, HOSTILE)
    snapshot = made(Snapshot, HOSTILE)
    console.print(picture(snapshot, [change], title="kohort watch", last={HOSTILE: 0.0}))
    assert isinstance(console.file, StringIO)
    drawn = STYLES.sub("", console.file.getvalue())
    assert drawn.count("a\\u001b[2J") > 10
    assert_harmless(drawn)
    assert_harmless(line(change))


def test_analyze_escapes_names(capsys: pytest.CaptureFixture[str]) -> None:
    texts = dict.fromkeys(("group", "rule", "title", "confidence", "text", "advice"), HOSTILE)
    found = finding(**texts, clients=[HOSTILE], evidence={})
    outcome = Outcome([found], [health(HOSTILE + "calm", 1)], [issue("clock_step", HOSTILE, keys=HOSTILE)], None)
    terminal.print_findings(outcome, verbose=True)
    terminal.say(HOSTILE)
    told = capsys.readouterr()
    for stream in (told.out, told.err):
        assert "a\\u001b[2J" in stream
        assert_harmless(stream)
    assert esc(HOSTILE).isprintable(), "a report's text"


def test_demo_escapes_names(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Observations(Stage(1, "orders", 1))
    watch.on_line = PlainView().broker_says
    watch.hear_broker(HOSTILE, {"level": "info"})
    assert_harmless(capsys.readouterr().out)
    assert_harmless("\n".join(watch.lines))


# The rest of the command line


@pytest.mark.parametrize("words", [("health", f"{NAME}:1"), ("watch", NAME), ("serve", "--set", f"{NAME}=1")])
def test_error_messages_escape_names(words: tuple[str, ...]) -> None:
    words = tuple(word.replace("\x00", "") for word in words)
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code in (1, 2)
    assert_harmless(refused.output)


def test_commands_print_in_one_way_only() -> None:
    # `click.echo` and `print` do not escape their input, so only these files may use them
    rooms = Path(__file__).parent.parent
    printing = {
        str(path.relative_to(rooms))
        for room in ("cli", "watch", "testing", "control", "broker")
        for path in (rooms / room).rglob("*.py")
        if re.search(r"^(?!.*get_help).*\b(click\.echo|print)\(", path.read_text(), re.MULTILINE)
    }
    assert printing == {"cli/output.py", "cli/follow.py", "cli/watch/__init__.py", "cli/demo.py", "cli/completion.py"}
