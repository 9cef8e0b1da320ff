"""kohort from a wheel, and from a folder that is worked on, in an environment that holds nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "__pycache__", "build", "dist", "*.egg-info", "typings")

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(1800)]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_python_runs_kohort_by_its_name(tmp_path: Path) -> None:
    source = Path(shutil.copytree(ROOT, tmp_path / "source", ignore=LEFT_OUT))
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    for how in (("--editable", source), (source,)):
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *how, cwd=tmp_path)
        assert run(python, "-m", "kohort", "--version", cwd=tmp_path).startswith("kohort ")
        command = [str(python), "-m", "kohort", "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as broker:
            assert broker.stdout is not None
            ready = broker.stdout.readline()
            broker.terminate()
        assert ready.startswith("READY bootstrap=127.0.0.1:")
        assert broker.returncode == 0
