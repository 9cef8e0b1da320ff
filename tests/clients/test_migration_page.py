"""The commands of the page about migrations work unchanged."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "migration.md"


def test_documented_migration_runs(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "test_move.py").write_text(block)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "test_move.py",
    ]
    # Options meant for these tests, `-n 2` say, would hide what the page prints.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250)
    assert run.returncode == 0, run.stdout + run.stderr
    steps = re.findall(r"^a (\w+) group of (\d) classic and (\d) consumer members$", run.stdout, re.MULTILINE)
    up = [("consumer", str(3 - number), str(number)) for number in (1, 2, 3)]
    assert steps == [*up, ("consumer", "1", "2"), ("consumer", "2", "1"), ("classic", "3", "0")]
    assert run.stdout.count("group converted") == 2
