"""Data directories that releases of kohort have written, opened by this one.

`releases/` has an archive of each release that changed the format: two topics, three records and a committed offset.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import httpx
import pytest

from kohort.storage.disk.ownership import FORMAT

ARCHIVES = sorted((Path(__file__).parent / "releases").glob("*.tar.gz"))


def extract(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.mark.long
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name)
def test_data_of_release_is_read(archive: Path, tmp_path: Path) -> None:
    data = extract(archive, tmp_path / "data")
    settings = ("--set", "offsets.topic.num.partitions=2")
    command = [sys.executable, "-m", "kohort.cli", "serve", "--listen", "0", "--control", "0", "--data-dir", str(data)]
    with subprocess.Popen([*command, *settings], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        ready = broker.stdout.readline()
        if "control=" not in ready:
            pytest.fail(f"the broker did not start: {ready}{broker.communicate()[1]}")
        control = ready.split("control=")[1].strip()
        with httpx.Client(base_url=f"http://{control}") as http:
            topics = {topic["name"]: topic for topic in http.get("/topics").json()}
            records = http.get("/topics/orders/records").json()
            group = http.get("/groups/billing").json()
        broker.terminate()
        broker.communicate()
    assert len(topics["orders"]["partitions"]) == 2
    assert topics["audit"]["configs"] == {"cleanup.policy": "compact"}
    assert [record["value"]["text"] for record in records] == ["a", "b", "c"]
    assert (records[0]["key"]["text"], records[0]["headers"][0]["name"]) == ("k", "trace")
    assert group["offsets"] == {"orders-0": 1, "orders-1": 1}


def test_format_has_an_archive(tmp_path: Path) -> None:
    metas = [extract(archive, tmp_path / archive.name) / "meta.properties" for archive in ARCHIVES]
    assert any(f"kohort.format={FORMAT}\n" in meta.read_text() for meta in metas)
