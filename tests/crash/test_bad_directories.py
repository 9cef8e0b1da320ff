"""Directories that `kohort serve` cannot use: it prints one line and leaves them unchanged."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kohort.cli.commands import main
from kohort.storage.disk.directory import CLEAN_SHUTDOWN, DataDirectory
from kohort.storage.disk.files import Disk
from kohort.storage.disk.journal import JOURNAL
from kohort.storage.disk.ownership import LOCK, META, DataDirectoryError
from tests.crash.life import Life, process_is_gone
from tests.support.batches import batch
from tests.support.data_requests import given_topic, produce
from tests.support.folders import contents

SEGMENT = f"t-0/{0:020}.log"
NOBODY = 65_534


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A data directory that a broker has left in peace, with two batches in it."""
    path = tmp_path / "data"
    life = Life(path, Disk())
    given_topic(life.client(), "t")
    for value in (b"a", b"b"):
        produce(life.client(), batch(value), "t")
    life.directory.close()
    return path


def serve(path: Path) -> Result:
    return CliRunner().invoke(main, ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(path)])


def verify(path: Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["admin", "verify", str(path)])
    return result.exit_code, result.output


def refused(path: Path, *words: str) -> None:
    """Check that the start fails with one line that contains these words, and changes nothing."""
    before, verified = contents(path), verify(path)
    result = serve(path)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("kohort: ")
    assert str(path) in line
    for word in words:
        assert word in line
    assert contents(path) == before
    assert verify(path) == verified


def test_somebody_elses_directory(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("\\begin{document}")
    refused(tmp_path, "contains other files (thesis.tex)", "needs a new or empty directory")


def test_rejects_kafka_directory(ours: Path) -> None:
    (ours / META).write_text("#\nversion=1\nnode.id=1\ncluster.id=x\ndirectory.id=y\n")
    (ours / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    refused(ours, "belongs to an Apache Kafka broker", "copy the folders of the partitions")


def test_rejects_file(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("hello")
    old_contents = contents(path)
    result = serve(path)
    assert (result.exit_code, result.stderr) == (2, f"kohort: {path} is a file; --data-dir wants a directory\n")
    assert contents(path) == old_contents


def test_one_that_another_broker_holds(ours: Path) -> None:
    holder = (
        "import sys; from pathlib import Path; from kohort.storage.disk.directory import DataDirectory\n"
        f"held = DataDirectory(Path({str(ours)!r})); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        refused(ours, "is in use by another broker")
        other.kill()
    life = Life(ours, Disk())  # a lock dies with its process
    life.directory.close()


def test_directory_opened_twice_stays_locked(ours: Path) -> None:
    first = DataDirectory(ours)
    with pytest.raises(DataDirectoryError, match="in use by another broker"):
        DataDirectory(ours)
    asks = f"import fcntl; fcntl.lockf(open({str(ours / LOCK)!r}, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    asked = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=False)
    assert "BlockingIOError" in asked.stderr
    first.abandon()


def newer_meta(path: Path) -> None:
    meta = (path / META).read_text()
    (path / META).write_text(meta.replace("kohort.format=1", "kohort.format=2"))


def newer_batches(path: Path) -> None:
    data = bytearray((path / SEGMENT).read_bytes())
    data[16] = data[len(data) // 2 + 16] = 3
    (path / SEGMENT).write_bytes(data)


def damaged_journal(path: Path) -> None:
    lines = (path / JOURNAL).read_bytes().splitlines(keepends=True)
    (path / JOURNAL).write_bytes(lines[0][:20] + b"}" + lines[0][21:] + b"".join(lines[1:]))


def garbled_journal(path: Path) -> None:
    text = (path / JOURNAL).read_text()
    assert "[[[1],0]]" in text
    (path / JOURNAL).write_text(text.replace("[[[1],0]]", "[[[1],1e400]]"))


def lost_journal(path: Path) -> None:
    (path / JOURNAL).unlink()


def empty_journal(path: Path) -> None:
    (path / JOURNAL).write_bytes(b"")


def torn_journal(path: Path) -> None:
    (path / JOURNAL).write_bytes(b'{"topic":"t"')


def damaged_checkpoint(path: Path) -> None:
    (path / "log-start-offset-checkpoint").write_text("0\n2\nt 0 1\n")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (newer_meta, ("written in format 2", "install that release or a newer one")),
        (newer_batches, ("t-0", "byte 0", "format 3", "start the one that wrote it")),
        (damaged_journal, (JOURNAL, "line 1", "mend or remove that line")),
        (lost_journal, (JOURNAL, "is missing", "restore it from a backup, or start once with --restore-topics")),
        (empty_journal, (JOURNAL, "is empty", "restore it from a backup, or start once with --restore-topics")),
        (torn_journal, (JOURNAL, "is empty", "restore it from a backup, or start once with --restore-topics")),
        (garbled_journal, (JOURNAL, "line 2", "'leader epoch' is not an integer", "mend or remove that line")),
        (damaged_checkpoint, ("log-start-offset-checkpoint", "cut short")),
    ],
)
@pytest.mark.parametrize("in_peace", [True, False])
def test_rejects_newer_or_damaged_directory(
    spoil: Callable[[Path], None], words: tuple[str, ...], in_peace: bool, ours: Path
) -> None:
    if not in_peace:
        (ours / CLEAN_SHUTDOWN).unlink()
    spoil(ours)
    refused(ours, *words)


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("used_before", [True, False])
def test_one_that_may_not_be_written(used_before: bool, anybodys: Path) -> None:
    path = anybodys / "data"
    path.mkdir()
    if used_before:
        Life(path, Disk()).directory.close()
    for file in path.rglob("*"):
        file.chmod(0o555 if file.is_dir() else 0o444)
    path.chmod(0o555)
    old_contents = contents(path)
    # Root may write everywhere, and other users cannot load the program: drop the rights after loading.
    script = (
        "import os, kohort.broker.runtime.run, kohort.broker.cluster.group_events, kohort.broker.cluster.disk_syncing\n"
        "import kohort.storage.disk.directory\n"
        "from kohort.cli.commands import main\n"
        "main.get_command(None, 'serve')\n"
        f"os.geteuid() or os.setuid({NOBODY})\n"
        f"main(['serve', '--listen', '127.0.0.1:0', '--data-dir', {str(path)!r}])\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert "Permission denied; --data-dir wants a directory that can be read and written" in line
    assert contents(path) == old_contents
    path.chmod(0o755)


def test_interrupted_first_start_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / "meta.properties.tmp").write_bytes(b"versi")
    (path / "topics.jsonl").write_bytes(b'{"next_producer_id":0}\n')
    (path / "lost+found").mkdir()
    Life(path, Disk()).directory.close()
    process_is_gone(path)
    assert (path / META).exists()
