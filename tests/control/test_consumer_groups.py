"""What the laboratory and the log tell of groups of the consumer protocol (KIP-848)."""

from __future__ import annotations

import pytest

from kohort.broker.logs import log
from kohort.control.control_errors import NotFoundError
from kohort.control.lab_group import Group
from tests.control.talking import Lab


def test_what_looks_into_classic_groups_says_so(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a consumer group {topics: [$topic]}
        """)
    group = Group(lab.laboratory, lab.name("group"))
    with pytest.raises(NotFoundError, match="speaks the consumer protocol"):
        group.explain()


def test_log_lines_say_what_took_it_to_another_state(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(log, "info_enabled", True)
    monkeypatch.setattr(log, "info", lambda line, **_: lines.append(line.partition(": ")[2]))
    lab.talk("""
        given topic $topic with 2 partitions
        given ada, bob share a consumer group {topics: [$topic]}
        ada beats
          <- eventually NONE {member_epoch: 3}
        """)
    assert lines == [
        "Empty -> Stable, generation 2, ada@127.0.0.1 joined",
        "Stable -> Assigning, generation 3, bob@127.0.0.1 joined",
        "Assigning -> Reconciling, generation 3, ada@127.0.0.1 sent a heartbeat",
        "Reconciling -> Stable, generation 3, bob@127.0.0.1 sent a heartbeat",
    ]
