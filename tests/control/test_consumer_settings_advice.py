"""Advice about settings of consumer groups (KIP-848)."""

from __future__ import annotations

import pytest

from kohort.control.groups.lab_group import Group
from tests.control.talking import Lab

TOLD = "the broker requests one every 5 s"


def badly_set(lab: Lab) -> tuple[str, ...]:
    return Group(lab.laboratory, lab.name("group")).explain().badly_set


def test_defaults_give_no_advice(lab: Lab) -> None:
    lab.talk("given topic $topic\ngiven ada, bob share a consumer group {topics: [$topic]}")
    assert badly_set(lab) == ()


def test_rebalance_timeout_below_heartbeat_interval(lab: Lab) -> None:
    lab.talk("""
        given topic $topic
        ada beats {topics: [$topic], rebalance_timeout_ms: 4000}
          <- NONE
        """)
    (told,) = badly_set(lab)
    assert told.startswith("ada's rebalance timeout (4 s; max.poll.interval.ms) is shorter than the heartbeat")


def test_session_with_few_heartbeats() -> None:
    lab = Lab("consumer")
    lab.talk("""
        given topic $topic
        zoe IncrementalAlterConfigs v1 {configs: {consumer.session.timeout.ms: 1000,
          consumer.heartbeat.interval.ms: 500}}
          <- {responses: [{error_code: NONE}]}
        ada beats {topics: [$topic]}
          <- NONE {heartbeat_interval_ms: 500}
        """)
    told = badly_set(lab)
    lab.stage.close()
    assert told == (
        "the group's session timeout (consumer.session.timeout.ms, 1 s) is shorter than three heartbeat intervals "
        "(consumer.heartbeat.interval.ms, 0.5 s): two lost heartbeats end a session",
    )


def test_votes_that_do_not_count(lab: Lab) -> None:
    lab.talk("""
        given topic $topic
        ada beats {topics: [$topic], assignor: range}
          <- NONE
        bob beats {topics: [$topic], assignor: range}
          <- NONE
        eve beats {topics: [$topic], assignor: uniform}
          <- NONE
        """)
    assert badly_set(lab) == (
        "eve wants the assignor uniform (group.remote.assignor), but the group uses range: the assignor with most "
        "votes is used",
    )


@pytest.mark.parametrize("classic", [False, True])
def test_rare_heartbeats_are_noticed_while_observed(lab: Lab, classic: bool) -> None:
    lab.laboratory.cluster.group_events.listen(lambda recorded: None)
    lab.talk("given topic $topic with 1 partitions\ngiven ada shares a consumer group {topics: [$topic]}")
    if classic:
        lab.talk("""
            wait 1000 ms
            bob joins v9 {session_timeout_ms: 40000, protocols: {range: subscription($topic)}}
              <- NONE {generation_id: 3}
            bob SyncGroup v5 {generation_id: 3}
              <- NONE
            """)
    for _ in range(3):
        lab.talk("wait 16000 ms\nada beats\n  <- NONE")
        if classic:
            lab.talk("bob Heartbeat v4 {generation_id: 3}\n  <- NONE")
    who, session, then = ("bob", 40, "lower heartbeat.interval.ms") if classic else ("ada", 45, TOLD)
    (told,) = [sentence for sentence in badly_set(lab) if sentence.startswith(who)]
    assert told.startswith(f"{who} sends a heartbeat every 16")
    assert told.endswith(
        f"more than a third of its session ({session} s): two lost heartbeats end its membership; {then}"
    )


def test_restarts_under_new_ids(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given topic $topic\ngiven ada, bob share a consumer group {topics: [$topic]}")
    for restarts in range(3):
        told = [sentence for sentence in badly_set(lab) if sentence.startswith("bob has come back")]
        assert len(told) == (restarts >= 2)
        lab.talk("""
            bob leaves the group
              <- NONE
            bob beats {epoch: 0, topics: [$topic]}
              <- NONE
            """)
    assert "bob has come back 3 times under a new member id" in badly_set(lab)[-1]
