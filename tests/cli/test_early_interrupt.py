"""Commands that are interrupted while they still import their modules, also in the background of a script."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTING = """
import signal
import sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell without job control starts a process with &

class Interrupting:
    def find_spec(self, name, *_):
        if name == module:
            signal.raise_signal(signal.SIGINT)

module = sys.argv[1]
sys.meta_path.insert(0, Interrupting())
sys.argv = ["kohort", *sys.argv[2:]]
from kohort.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        ("kohort.broker.runtime.run", ("serve", "--listen", "127.0.0.1:0"), ""),
        ("kohort.cli.watch", ("watch", "127.0.0.1:1"), "\nAborted!\n"),
        ("kohort.cli.watch.looking", ("watch", "127.0.0.1:1"), "\nAborted!\n"),
    ],
)
def test_signal_during_imports_ends_command(module: str, words: tuple[str, ...], message: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTING, module, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", message)
