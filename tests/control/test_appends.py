"""Writes of a coordinator fail, are slow, or are held."""

import pytest

from kohort.control.control_errors import ControlError
from tests.control.talking import Lab


def test_unconfirmed_assignment_is_not_sent(lab: Lab) -> None:
    lab.talk("""
        ada joins
          <- NONE {generation_id: 1}
        """)
    with lab.laboratory.appends.of("group", group=lab.name("group")).hold() as rule:
        lab.talk("""
            ada SyncGroup v5 {generation_id: 1, assignments: {$ada: x}}
              <- nothing for 1000 ms
            """)
        assert (rule.held, rule.acted, lab.state()) == (1, 1, "CompletingRebalance")
        rule.release()
        lab.talk("ada <- NONE {assignment: x}")
    assert lab.state() == "Stable"


def test_held_append_completes_with_rule(lab: Lab) -> None:
    lab.talk("given topic $topic with 1 partitions")
    with lab.laboratory.appends.of("commit").hold():
        lab.talk("""
            ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 7}}}
              <- nothing for 500 ms
            """)
    lab.talk("ada <- {topics: [...]}")
    assert lab.laboratory.appends.rules == []


def test_slow_append_delays_response(lab: Lab) -> None:
    lab.talk("given topic $topic with 1 partitions")
    lab.laboratory.appends.of("commit").delay(seconds=2)
    lab.talk("""
        ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 7}}}
          <- between 2000 and 2000 ms {topics: [...]}
        """)


def test_failed_append_returns_kafka_error(lab: Lab) -> None:
    lab.talk("given topic $topic with 1 partitions")
    lab.laboratory.appends.of("commit").fail("NOT_ENOUGH_REPLICAS", times=1)
    lab.talk("""
        ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 7}}}
          <- {topics: [{partitions: [{error_code: COORDINATOR_NOT_AVAILABLE}]}]}
        ada OffsetFetch v5 {offsets: {$topic: [0]}}
          <- NONE {topics: [{name: $topic, partitions: [{partition_index: 0, committed_offset: -1}]}]}
        ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 8}}}
          <- {topics: [{partitions: [{error_code: NONE}]}]}
        """)


def test_other_appends_are_left_alone(lab: Lab) -> None:
    rule = lab.laboratory.appends.of("commit", group="another-*").fail()
    lab.talk("""
        given topic $topic with 1 partitions
        given ada shares a stable group
        ada OffsetCommit v8 {generation_id: 1, offsets: {$topic: {0: 7}}}
          <- {topics: [{partitions: [{error_code: NONE}]}]}
        """)
    assert rule.acted == 0


def test_unknown_storage_error_is_rejected(lab: Lab) -> None:
    with pytest.raises(ControlError, match="did you mean NOT_ENOUGH_REPLICAS"):
        lab.laboratory.appends.of().fail("NOT_ENOUGH_REPLICA")
    with pytest.raises(ControlError, match="unknown kind of append 'comit'; did you mean commit"):
        lab.laboratory.appends.of("comit")
