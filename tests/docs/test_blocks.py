"""Commands, rules and events in README and docs are valid. `tests/clients` runs the Python blocks."""

import json
import shlex
from pathlib import Path

import click
import pytest

from kohort.cli.commands import main
from kohort.cli.mcp import mcp
from kohort.control.faults.fault_files import load
from kohort.coordinator.events.group_event import COLUMNS, KINDS
from tests.control.talking import Lab
from tests.docs.blocks import ROOT, Block, blocks

COMMANDS = [
    (str(block), line)
    for language in ("console", "")
    for block in blocks(language)
    for line in (command.removeprefix("$ ") for command in block.text.splitlines())
    if line.startswith("kohort ")
    and not line.endswith(" --help")
    and not any(sign in line.split("#")[0] for sign in ("[", "…", "HOST:PORT"))
]


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 20


@pytest.mark.parametrize(("block", "line"), COMMANDS, ids=str)
def test_command_blocks_are_valid(block: str, line: str) -> None:
    command: click.Command = main
    words = shlex.split(line, comments=True)[1:]
    context: click.Context | None = None
    while isinstance(command, click.Group):
        context = command.make_context(command.name, words, parent=context)
        name, subcommand, words = command.resolve_command(context, [*context._protected_args, *context.args])
        assert subcommand is not None, f"{block}: unknown command {name}"
        command = subcommand
    try:
        command.make_context(command.name, words, parent=context)
    except click.BadParameter as problem:
        if "does not exist" not in problem.message:  # a file of the reader's
            raise


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_rules_are_rules(block: Block, tmp_path: Path) -> None:
    file, lab = tmp_path / "rules.yaml", Lab()
    if block.title.startswith((".github", "prometheus")):  # of another program
        return
    file.write_text(block.text)
    assert load(lab.faults, file)
    lab.stage.close()


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_events_are_events(block: Block) -> None:
    row = json.loads(block.text)
    if "mcpServers" in row:
        server = row["mcpServers"]["kohort"]
        assert (server["command"], server["args"][0]) == ("kohort", "mcp")
        assert mcp.make_context("mcp", server["args"][1:])
        return
    assert {"v", "event_id", "seq", "boot_id", "node_id"} | set(COLUMNS) >= row.keys()
    assert row["kind"] in KINDS


TESTED = {
    "java": ROOT / "clients/java/src/test/java/orders/BillingTest.java",
    "js": ROOT / "clients/node/tests/billing.test.js",
}  # tests that `make clients` runs; pages contain parts of them


@pytest.mark.parametrize("block", [*blocks("java"), *blocks("js")], ids=str)
def test_foreign_code_blocks_are_tested(block: Block) -> None:
    if "Kohort.start(" in block.text:  # used by the client's own tests, piece by piece
        return
    source = [line.strip() for line in TESTED[block.language].read_text().splitlines()]
    lines = [line.strip() for line in block.text.strip().splitlines()]
    assert any(source[start : start + len(lines)] == lines for start in range(len(source)))
