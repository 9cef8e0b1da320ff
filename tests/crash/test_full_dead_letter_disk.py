"""Dead letters of share groups while their disk is full."""

from __future__ import annotations

from errno import ENOSPC
from pathlib import Path

import pytest

from kohort.broker.cluster.dead_letter_topics import ENABLED
from kohort.protocol.errors import ErrorCode as E
from tests.broker.share_member import REJECT, Member, ready
from tests.crash.machine import Machine, no_failure

pytestmark = pytest.mark.usefixtures("no_threads")


def test_unwritable_dead_letter_is_reported_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.creates()
    machine.looks_for_coordinators()
    life, folder = machine.life, "dlq.t-0"
    machine.creates("dlq.t", **{ENABLED: "true"})
    ready(life, group="g")
    configs = {"share.auto.offset.reset": "earliest", "errors.deadletterqueue.topic.name": "dlq.t"}
    assert life.cluster.group_configs.configure("g", configs) is None
    assert machine.produces(b"a", b"b", b"c") is E.none
    member = Member(life)
    assert member.acquires(0, epoch=0) == [(0, 2, 1)]

    def no_room(operation: str, path: Path) -> OSError | None:
        fails = operation == "write" and path.parent.name == folder
        return OSError(ENOSPC, "No space left on device", str(path)) if fails else None

    machine.disk.fails = no_room
    assert member.acknowledges((0, 0, [REJECT])) is E.none
    assert member.acknowledges((1, 1, [REJECT])) is E.none
    (line,) = life.log.getvalue().splitlines()
    assert "g: records are archived without dead letters: dlq.t-0 cannot be stored: No space left on device" in line
    machine.disk.fails = no_failure
    assert member.acknowledges((2, 2, [REJECT])) is E.none
    assert len(machine.values("dlq.t")) == 1
    machine.starts_again()
    assert machine.values() == [b"a", b"b", b"c"], "the records stay in their partition"
    assert len(machine.values("dlq.t")) == 1
    assert Member(machine.life, "bob").acquires(0, epoch=0) == [], "all three are archived"
    assert not machine.life.directory.warnings
