"""SECURITY.md names the limits that there are."""

import ast
import re
from pathlib import Path

import pytest

from kohort.broker.settings.broker_settings import Settings

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text()
SETTINGS = {setting.name: setting.show(value) for setting, value in Settings([], "faithful", 3)}
TOLD = dict(re.findall(r"^\| `([a-z.]+)` \| (-?\d+) \| .+ \| `.+` \|$", PAGE, re.MULTILINE))
CONSTANTS = re.findall(r"^\| `([A-Z_]+)` \| `([\w/]+\.py)` \| (\d+) \| .+ \| `.+` \|$", PAGE, re.MULTILINE)
HELD_BY = re.findall(r"^\| `([\w.]+)` \| .+ \| `([\w/]+\.py)` \|$", PAGE, re.MULTILINE)

IN_OTHER_WORDS = {
    "log.retention.bytes": "retention.bytes",
    "log.retention.hours": "retention.ms",
    "MAX_BODY_BYTES": "the limit is 1048576 bytes",
    "EVENTS_KEPT": "kept=",
    "MAX_FILE_BYTES": "has more than 262144 bytes",
}
"""How a test names a limit that it does not call by its name."""


def test_settings_have_documented_defaults() -> None:
    assert len(TOLD) > 20
    assert {name: SETTINGS.get(name) for name in TOLD} == TOLD


def test_every_limit_setting_is_documented() -> None:
    limits = {name for name in SETTINGS if re.search(r"\b(max|limit)\b", name)}
    assert {"message.max.bytes", "kohort.request.max.elements"} <= limits
    assert limits - TOLD.keys() == set()


@pytest.mark.parametrize(("name", "file", "value"), CONSTANTS)
def test_constants_have_documented_values(name: str, file: str, value: str) -> None:
    found = [
        node.value
        for node in ast.parse((ROOT / file).read_text()).body
        if (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name)
        or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name)
    ]
    assert [eval(ast.unparse(each)) for each in found if each is not None] == [int(value)]


def test_every_table_row_is_checked() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) == len(TOLD) + len(CONSTANTS)


def test_every_limit_has_a_test() -> None:
    assert len(HELD_BY) == len(TOLD) + len(CONSTANTS)
    silent = []
    for name, file in HELD_BY:
        words = IN_OTHER_WORDS.get(name, name)
        text = (ROOT / file).read_text()
        if words not in text and words.replace(".", "_") not in text:
            silent.append((name, file))
    assert silent == []


def test_options_are_in_help() -> None:
    commands = ("serve_options.py", "proxy.py", "connecting.py")
    options = "".join((ROOT / "cli" / file).read_text() for file in commands)
    named = set(re.findall(r"`(--[a-z-]+)", PAGE)) | set(re.findall(r"`(KOHORT_\w+)`", PAGE))
    assert named - {"--version"} == {each for each in named - {"--version"} if f'"{each}"' in options}
