"""The command `kohort demo`, and what it costs those who do not run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.commands import main
from kohort.cli.demo import _analyse, console_for
from kohort.demo.stage import Stage


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.cli.demo.missing_libraries", lambda: ["aiokafka", "confluent-kafka"])
    ended = CliRunner().invoke(main, ["demo"])
    assert ended.exit_code == 2
    assert ended.output == "kohort: the demo needs aiokafka, confluent-kafka: pip install 'kohort[demo]'\n"


def test_used_directory_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    ended = CliRunner().invoke(main, ["demo", "--out", str(tmp_path)])
    assert ended.exit_code == 2
    assert ended.output == f"kohort: {tmp_path} is not empty; --out requires a new directory\n"


def test_serving_loads_nothing_of_it() -> None:
    code = "import sys, kohort.cli.main, kohort.cli.serve, kohort.broker.runtime.run as run\n"
    code += "print([name for name in sys.modules if name.startswith(('kohort.demo', 'rich', 'aiokafka', 'kafka'))])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


async def test_missing_analysis_names_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # rich would drop `[analyze]` as markup
    monkeypatch.setattr("kohort.demo.analysis.is_installed", lambda: False)
    assert await _analyse(console_for(True), Stage(1, "orders", 1), tmp_path, tmp_path) == []
    assert "pip install 'kohort[analyze]'" in capsys.readouterr().out
