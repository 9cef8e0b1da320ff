"""What a shell is given to complete kohort's commands."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from kohort.cli.commands import main
from kohort.cli.completion import SHELLS, VARIABLE


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_script_calls_kohort(shell: str) -> None:
    given = CliRunner().invoke(main, ["completion", shell])
    assert given.exit_code == 0
    assert f"{VARIABLE}={shell}_complete" in given.output


def test_user_shell_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert f"{VARIABLE}=fish_complete" in CliRunner().invoke(main, ["completion"]).output
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    refused = CliRunner().invoke(main, ["completion"])
    assert refused.exit_code == 2
    assert "name a shell: bash, zsh, fish; $SHELL is tcsh" in refused.output


@pytest.mark.parametrize(
    ("words", "last", "completed"),
    [([], "se", ["serve", "settings"]), (["ctl", "groups"], "hi", ["history"]), (["serve"], "--adv", ["--advertise"])],
)
def test_commands_and_options_are_completed(words: list[str], last: str, completed: list[str]) -> None:
    found = BashComplete(main, {}, "kohort", VARIABLE).get_completions(words, last)
    assert [each.value for each in found] == completed
