"""The ten examples in Node.js, one file after the other, with one broker with a control address."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.libraries import Missing, http_examples, tool
from tests.clients.serving import serving
from tests.support.lacking import lacks

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
STORIES = sorted(path.name for path in (EXAMPLES / "http").glob("*.test.js"))
NATIVE = ("04", "09")  # examples that need a native client
STORY_S = 100

pytestmark = [
    pytest.mark.libraries,
    pytest.mark.timeout(1_500),  # of which a compiler may take most, once
    pytest.mark.needs("our own broker"),
]


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """A broker, as the README of the examples starts it."""
    options = ("--control", "127.0.0.1:0", "--set", "offsets.topic.replication.factor=1")
    with serving(nodes=3, options=options) as ready:
        bootstrap, _, control = ready.partition(" control=")
        yield {"KOHORT_BOOTSTRAP": bootstrap, "KOHORT_CONTROL": control}


@pytest.fixture(scope="module")
def folder() -> Path:
    """Where the examples can run."""
    try:
        tool("node")
        return http_examples()
    except Missing as reason:
        lacks("program", reason)


@pytest.mark.parametrize("story", STORIES)
def test_http_example(story: str, folder: Path, addresses: dict[str, str]) -> None:
    if story.startswith(NATIVE) and not (folder / "node_modules" / "node-rdkafka").exists():
        lacks("native addon")
    # Forced, since kafkajs sometimes keeps a connection that it has lost and closed, and node waits for it for ever.
    command = [tool("node"), "--test", "--test-force-exit", "--test-reporter=tap", story]
    told = subprocess.run(
        command, cwd=folder, env=os.environ | addresses, capture_output=True, text=True, timeout=STORY_S, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "# fail 0" in told.stdout
    assert "# pass 0" not in told.stdout, "all of it was skipped"
