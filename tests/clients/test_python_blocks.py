"""Every Python block in README and docs runs unchanged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kohort.testing import Cluster, SyncCluster
from tests.docs.blocks import Block, blocks

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PYTHON = [
    block
    for block in blocks("python")
    if not block.title and not block.not_run  # files of tutorials: tests/docs/test_sessions.py
]
TESTS = [block for block in PYTHON if "def test_" in block.text]
SCRIPTS = [block for block in PYTHON if "asyncio.run(main())" in block.text]


def test_every_block_is_test_or_script() -> None:
    assert [str(block) for block in PYTHON if block not in TESTS + SCRIPTS] == []
    assert TESTS
    assert SCRIPTS


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Result of each block by the name of its file, from one pytest run, because its start is slow."""
    folder = tmp_path_factory.mktemp("blocks")
    for number, block in enumerate(TESTS):
        (folder / f"test_block_{number}.py").write_text(block.text)
    shutil.copy(EXAMPLES / "test_16_an_incident_again.talk", folder / "billing.talk")
    loops = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
    plugins = ["--disable-plugin-autoload", "-p", "kohort.testing.plugin", "-p", "pytest_asyncio.plugin"]
    options = ["-rA", "-p", "no:cacheprovider", *loops, *plugins, "-W", "error::UserWarning"]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)]
    # Options meant for these tests, `-n 2` say, are not theirs.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    try:
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=550)
    except subprocess.TimeoutExpired as hang:
        pytest.fail(f"a block does not end, which pytest had begun last: {hang.stdout!r}")
    told: dict[str, str] = {}
    for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (test_block_\d+\.py)", run.stdout, re.MULTILINE):
        told[name] = outcome if told.get(name, "PASSED") == "PASSED" else told[name]
    told["all"] = run.stdout + run.stderr
    return told


@pytest.mark.parametrize("number", range(len(TESTS)), ids=[str(block) for block in TESTS])
def test_documented_test_passes(number: int, outcomes: dict[str, str]) -> None:
    fails = TESTS[number].fails
    assert outcomes.get(f"test_block_{number}.py") == ("FAILED" if fails else "PASSED"), outcomes["all"]
    assert fails in outcomes["all"]


def produce(kafka: SyncCluster, ends: threading.Event) -> None:
    """Produce records repeatedly, because a new consumer starts at the end at an unknown time."""
    while not ends.wait(0.1):
        kafka.topics.append("orders", "a")


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_documented_script_consumes(block: Block, tmp_path: Path) -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders")
        script = tmp_path / "script.py"
        script.write_text(block.text.replace("127.0.0.1:9092", kafka.bootstrap))
        running = subprocess.Popen([sys.executable, "-u", str(script)], stdout=subprocess.PIPE, text=True)
        try:
            kafka.group("billing").wait_stable(members=1, timeout=120)
            ends = threading.Event()
            producing = threading.Thread(target=produce, args=(kafka, ends))
            producing.start()
            try:
                assert running.stdout is not None
                assert running.stdout.readline() == "b'a'\n"
            finally:
                ends.set()
                producing.join()
        finally:
            running.kill()
            running.wait()
