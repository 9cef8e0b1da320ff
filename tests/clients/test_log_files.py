"""Kafka's DumpLogSegments reads a broker's files: records, state of coordinators and indexes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Hashable
from pathlib import Path
from random import Random

import pytest

from kohort.storage.disk.files import Disk
from tests.clients.kafkas_own import TIMEOUT_S, command
from tests.crash.life import Life
from tests.crash.play import Play
from tests.crash.truth import MONEY, Truth

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600), pytest.mark.usefixtures("kafkas_tools")]
STEPS = 1_500


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """After groups, commits, transactions, segments that were rolled and logs that were compacted; still running.

    The first one at whose end no topic is deleted.
    """
    plays = (_played(seed, tmp_path_factory.mktemp("logs") / "data") for seed in range(20))
    return next(play for play in plays if all(any(_logs(play, topic)) for topic in ("keyed", "plain")))


def _played(seed: int, folder: Path) -> Play:
    life = Life(folder, Disk())
    play = Play(Random(seed), Truth())
    play.meet(life)
    play.begin()
    for _ in range(STEPS):
        play.step()
    life.wait(20_000)
    life.settle()
    for store in life.directory._stores.values():
        store.close()
    return play


def _logs(play: Play, topic: str, ending: str = ".log") -> list[Path]:
    return sorted(play.life.directory.path.glob(f"{topic}-*/*{ending}"))


def files(play: Play, topic: str, ending: str) -> list[Path]:
    found = _logs(play, topic, ending)
    assert found
    return found


def dumped(paths: list[Path], *more: str, compacted: bool = False) -> str:
    """Return the output of the tool, without complaints on stderr; gaps are allowed in compacted logs."""
    done = subprocess.run(
        command("kafka-dump-log", "--files", ",".join(map(str, paths)), *more),
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # A segment that begins at the offset in its name is not a gap, although the first ones have been deleted.
    complaints = re.sub(r"Non-consecutive offsets in \S*/0*(\d+)\.log\n  -1 is followed by \1\n", "", done.stderr)
    if compacted:
        complaints = re.sub(r"Non-consecutive offsets in .*\n(  .* is followed by .*\n)*", "", complaints)
    assert not complaints
    assert "isvalid: false" not in done.stdout
    return done.stdout


def records(text: str) -> dict[str, str]:
    """Return the last payload of each key."""
    return dict(re.findall(r"key: (\{.*?\}\}) payload: (.*)", text))


def test_groups_and_offsets(play: Play) -> None:
    text = dumped(files(play, "__consumer_offsets", ".log"), "--offsets-decoder", "--deep-iteration", compacted=True)
    found = {key: value for key, value in records(text).items() if value not in ("null", "<DELETE>")}
    commits: dict[Hashable, int] = {}
    generations = {}
    for key, value in found.items():
        data, told = json.loads(key)["data"], json.loads(value)["data"]
        if "topic" in data:
            commits[data["group"], data["partition"]] = told["offset"]
        elif "generation" in told:  # others are of groups of the consumer protocol
            generations[data["group"]] = told["generation"]
    assert commits
    for place in play.truth.commits:
        play.truth.commits.found(place, commits.get(place, -1))
    groups = {group.group_id: group for group in play.life.cluster.coordinators[0].of_type("classic")}
    assert set(play.truth.generations) <= set(generations)
    for name, generation in play.truth.generations.items():
        assert generation <= generations[name] <= groups[name].generation_id


def test_transactions(play: Play) -> None:
    text = dumped(
        files(play, "__transaction_state", ".log"), "--transaction-log-decoder", "--deep-iteration", compacted=True
    )
    (value,) = records(text).values()
    assert json.loads(value)["data"]["producerId"] in play.truth.producer_ids
    markers = re.findall(r"endTxnMarker: (\w+)", dumped(files(play, MONEY, ".log"), "--deep-iteration"))
    assert {"COMMIT", "ABORT"} <= set(markers)


def test_records_of_rolled_and_compacted_segments(play: Play) -> None:
    assert len(files(play, "keyed", ".log")) > len(list(play.life.directory.path.glob("keyed-*"))), (
        "segments were rolled"
    )
    assert (play.life.directory.path / "cleaner-offset-checkpoint").exists(), "logs were compacted"
    for topic in ("keyed", "plain", MONEY):
        dumped(files(play, topic, ".log"), "--deep-iteration", "--print-data-log", compacted=topic == "keyed")


def test_indexes_fit_their_segments(play: Play) -> None:
    indexes = files(play, "*", ".index")
    assert any(path.stat().st_size for path in indexes)
    dumped(indexes)
    dumped(indexes, "--index-sanity-check")
    dumped(files(play, "*", ".timeindex"))
    dumped(indexes, "--verify-index-only")
