"""The scheduling table of ARCHITECTURE.md has the numbers of the code."""

from __future__ import annotations

import re

import pytest

from kohort.broker.runtime.server import LATE_US, READING_S
from kohort.broker.scheduling.connection_limits import UNREAD_BYTES, WAITING_BYTES
from kohort.broker.scheduling.fair_scheduler import AT_A_TIME, LITTLE_NS, ROUND_US, TURN_US
from kohort.broker.scheduling.loading_ahead import EVERY_S
from kohort.broker.scheduling.offloaded_decoding import READ_AT_ONCE
from kohort.broker.scheduling.paused_reading import LOOK_EVERY_MS
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.broker.scheduling.write_batching import AT_ONCE
from tests.docs.sources import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text().partition("## Scheduling")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("serve one connection at a time", f"{TURN_US // 1000} ms"),
        ("serve the queue between two polls", f"{ROUND_US // 1000} ms"),
        ("whose requests took long lately", f"{LITTLE_NS / 1e6} ms"),
        ("JoinGroup and SyncGroup, also", f"{AT_A_TIME}"),
        ("into chunks", f"{SHORT}"),
        ("with more array elements", f"{READ_AT_ONCE:,}"),
        ("write responses together", f"{AT_ONCE}"),
        ("stop reading a socket", f"{WAITING_BYTES // 1024} KiB, {LOOK_EVERY_MS // 1000} s"),
        ("leaves more unread", f"{UNREAD_BYTES // 1024} KiB"),
        ("load APIs in advance", f"{round(EVERY_S * 1000)} ms"),
        ("A timer that fires", f"{LATE_US // 1000} ms"),
        ("reads sockets for", f"{round(READING_S * 1000)} ms"),
    ],
)
def test_stated_numbers_match_code(text: str, number: str) -> None:
    (line,) = [row for row in PAGE.splitlines() if text in row]
    assert re.search(rf"(?<![\w.,]){re.escape(number)}(?![\w.])", line)


def test_lists_every_file_of_folder() -> None:
    files = {path.name for path in (ROOT / "broker" / "scheduling").glob("[!_]*.py")}
    assert files - {"served.py"} == set(re.findall(r"`(\w+\.py)`", PAGE))
