"""Consumer groups (KIP-848) in the laboratory and the log."""

from __future__ import annotations

import httpx
import pytest

from kohort.base.logs import log
from kohort.control.control_errors import ControlError
from kohort.control.groups.lab_group import Group, Migration
from kohort.control.http.app import make_app
from tests.control.talking import Lab

SHARED = """
    given topic $topic with 4 partitions
    given ada, bob share a consumer group {topics: [$topic]}
    """


def the_group(lab: Lab) -> Group:
    return Group(lab.laboratory, lab.name("group"))


def shared(lab: Lab) -> Group:
    """Let ada and bob share four partitions, and record later events."""
    lab.talk(SHARED)
    lab.laboratory.record()
    lab.clock.pause()
    return the_group(lab)


def third_joins(lab: Lab) -> Group:
    """Let eve join, so that one of the others must revoke a partition."""
    group = shared(lab)
    lab.laboratory.advance(1_000)  # group.consumer.assignment.interval.ms
    lab.talk("""
        eve beats {topics: [$topic]}
          <- NONE {member_epoch: 4}
        ada beats
          <- NONE
        bob beats
          <- NONE
        """)
    return group


def test_group_and_its_members(lab: Lab) -> None:
    group = shared(lab)
    topic = lab.name("topic")
    assert (group.type, group.state, group.generation, group.assignment_epoch) == ("consumer", "Stable", 3, 3)
    assert group.protocol == "uniform"
    assert group.migration == Migration("consumer", 0, 2)
    ada = group.member("ada")
    assert (ada.speaks, ada.epoch, ada.state, ada.waits_for) == ("consumer", 3, "Stable", "")
    assert (ada.session_timeout_ms, ada.rebalance_timeout_ms, ada.topics) == (45_000, 30_000, (topic,))
    assert ada.partitions == ada.target
    assert len(ada.partitions[topic]) == 2
    assert set(group.owners) == {(topic, number) for number in range(4)}
    assert set(group.owners.values()) == {ada.member_id, group.member("bob").member_id}
    assert str(group) == f"group {group.id} (Stable, epoch 3, members: ada, bob)"


def test_reconciliation_waits_for_revocation(lab: Lab) -> None:
    group = third_joins(lab)
    slow = next(member for member in group.members if member.revoking)
    eve = group.member("eve")
    assert (group.state, slow.state, eve.state) == ("Reconciling", "UnrevokedPartitions", "UnreleasedPartitions")
    assert (eve.waits_for, eve.partitions, slow.revoking) == ("partitions", {}, eve.target)
    assert slow.revocation_ends_in_ms == 30_000
    partition = f"{lab.name('topic')} {slow.revoking[lab.name('topic')][0]}"
    explanation = group.explain()
    assert explanation.headline == f"group {group.id}: Reconciling, epoch 4, 3 members"
    assert [str(wait) for wait in explanation.waits] == [
        f"{slow} to revoke {partition}, which eve is to get; in 30 s: it is removed, and its partitions are free"
    ]
    advice = {client.client: client.should for client in explanation.clients}
    assert advice[str(slow)].endswith(f"should revoke {partition}, and confirm that in a heartbeat (TopicPartitions)")
    assert advice["eve"] == f"has nothing; waits for {partition}, which {slow} still has"
    assert group.history[-1].laggard == slow.client_id
    assert group.history[-1].laggard_ms is None
    assert "has not revoked partitions" in str(group.history[-1])


def test_blocking_member_is_removed(lab: Lab) -> None:
    group = third_joins(lab)
    slow = next(member for member in group.members if member.revoking)
    lab.laboratory.advance(30_000)
    assert str(slow) not in [str(member) for member in group.members]
    held_up, after = group.history[-2:]
    assert (held_up.outcome, held_up.laggard, held_up.laggard_ms) == ("superseded", slow.client_id, 30_000.0)
    assert (after.cause, after.evicted, after.actor) == ("epoch timeout", (slow.member_id,), slow.client_id)
    lab.laboratory.advance(1_000)
    waits = group.explain().waits
    assert waits[0].what == "the next target assignment (group.consumer.assignment.interval.ms)"


def test_rebalance_history(lab: Lab) -> None:
    group = third_joins(lab)
    slow = next(member for member in group.members if member.revoking)
    lab.laboratory.advance(2_000)
    lab.talk(f"""
        {slow} beats {{owns: ${slow}_share}}
          <- NONE {{member_epoch: 4}}
        eve beats
          <- NONE
        """)
    assert group.state == "Stable"
    last = group.history[-1]
    assert (last.group_type, last.cause, last.actor, last.outcome) == ("consumer", "join new", "eve", "completed")
    assert (last.laggard, last.laggard_ms) == (slow.client_id, 2_000.0)
    assert (last.prepare_ms, last.complete_ms, last.moved, last.members) == (0.0, 2_000.0, 1, 3)
    assert "reconcil" in group.timeline()
    assert group.explain().waits == ()


def test_static_member_with_temporary_leave(lab: Lab) -> None:
    lab.clock.pause()
    lab.talk("""
        given topic $topic with 4 partitions
        ada beats {topics: [$topic], instance: i1}
          <- NONE {member_epoch: 2}
        ada beats {epoch: -2, instance: i1}
          <- NONE {member_epoch: -2}
        """)
    (wait,) = the_group(lab).explain().waits
    assert wait.for_whom == ("i1",)
    assert wait.what.startswith("to rejoin: it left temporarily with")
    assert wait.ends_in_ms == 45_000


def test_rules_match_epochs_and_states(lab: Lab) -> None:
    group = third_joins(lab)
    slow = next(member for member in group.members if member.revoking)
    with lab.gates.hold("consumer-heartbeat-received", group=group.id) as gate:
        lab.talk("eve beats")
        assert [held.member for held in gate.held] == [group.member("eve").member_id]
        gate.release("eve")
    lab.talk("eve <- NONE {member_epoch: 4}")
    rule = lab.faults.on(
        "ConsumerGroupHeartbeat", client_id=slow.client_id, generation=slow.epoch, state="Reconciling"
    ).error("COORDINATOR_NOT_AVAILABLE")
    lab.talk(f"""
        {slow} beats
          <- COORDINATOR_NOT_AVAILABLE
        eve beats
          <- NONE
        """)
    rule.remove()
    with pytest.raises(ControlError, match="Assigning"):
        lab.faults.on("ConsumerGroupHeartbeat", state="Asigning")


def test_frozen_member_is_not_alive(lab: Lab) -> None:
    group = shared(lab)
    lab.faults.freeze(group=group.id, client_id="bob")
    assert (group.member("ada").is_alive, group.member("bob").is_alive) == (True, False)
    lab.laboratory.advance(45_001)
    assert [str(member) for member in group.members] == ["ada"]
    assert (group.history[-1].cause, group.history[-1].actor) == ("session expired", "bob")


def test_migration_can_be_awaited(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 4 partitions
        given ada shares a stable group {protocols: {range: subscription($topic)},
          shares: {ada: assignment($topic:0+1)}}
        """)
    lab.laboratory.record()
    group = the_group(lab)
    assert (group.type, group.migration.is_at("classic")) == ("classic", True)
    lab.talk("""
        bob beats {topics: [$topic]}
          <- NONE
        """)
    assert group.migration == Migration("consumer", 1, 1)
    assert str(group.migration) == "a consumer group of 1 classic and 1 consumer members"
    assert {member.client_id: member.speaks for member in group.members} == {"ada": "classic", "bob": "consumer"}
    (wait, *_) = group.explain().waits
    assert wait.for_whom == ("ada",)
    assert wait.what.startswith("to rejoin (JoinGroup)")
    lab.talk("""
        bob leaves the group
          <- NONE
        """)
    assert group.migration == Migration("classic", 1, 0)
    kinds = [event.kind for event in group.events if event.kind == "group_converted"]
    assert kinds == ["group_converted"] * 2


async def test_all_of_it_over_http(lab: Lab) -> None:
    group = third_joins(lab)
    slow = next(member for member in group.members if member.revoking)
    app = make_app(lab.stage.server, laboratory=lab.laboratory)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        (listed,) = (await client.get("/groups")).json()
        read = (await client.get(f"/groups/{group.id}")).json()
        assert listed == read
        assert (read["type"], read["state"], read["generation"], read["assignment_epoch"]) == (
            "consumer",
            "Reconciling",
            4,
            4,
        )
        assert read["migration"] == {"protocol": "consumer", "classic_members": 0, "consumer_members": 3}
        member = (await client.get(f"/groups/{group.id}/members/{slow}")).json()
        assert (member["epoch"], member["state"], member["revocation_ends_in_ms"]) == (3, "UnrevokedPartitions", 30_000)
        assert member["revoking"] == {topic: list(numbers) for topic, numbers in slow.revoking.items()}
        told = (await client.get(f"/groups/{group.id}/wait", params={"state": "Reconciling", "member": "eve",
            "waits_for": "partitions", "migrated_to": "consumer"})).json()  # fmt: skip
        assert told["id"] == group.id
        in_vain = await client.get(f"/groups/{group.id}/wait", params={"migrated_to": "classic", "timeout": 0.01})
        assert in_vain.status_code == 408
        assert "migrated to classic" in in_vain.json()["detail"]
        rebalance = (await client.get(f"/groups/{group.id}/history")).json()[-1]
        assert (rebalance["group_type"], rebalance["laggard"], rebalance["laggard_ms"]) == (
            "consumer",
            slow.client_id,
            None,
        )
        explanation = (await client.get(f"/groups/{group.id}/explanation")).json()
        assert f"waits for {slow} to revoke" in explanation[1]


def test_log_lines_name_state_causes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
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


NEW_TARGET = """
    wait 1100 ms
    eve beats
      <- NONE
    ada beats
      <- NONE
    ada beats {owns: $ada_share}
      <- NONE {member_epoch: 4}
    """


def six_shared(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("""
        given topic $topic with 6 partitions
        given ada, bob share a consumer group {topics: [$topic]}
        """)


def test_frozen_member_is_laggard_at_expiry(lab: Lab) -> None:
    six_shared(lab)
    lab.faults.freeze(group=lab.name("group"), member=lab.name("bob"))
    lab.talk("eve beats {topics: [$topic]}\n  <- NONE")
    lab.talk(NEW_TARGET)
    lab.laboratory.advance(46_000)
    held_up, after = lab.laboratory.recorder.history(lab.name("group"))[-2:]
    assert (held_up.outcome, held_up.laggard) == ("superseded", "bob")
    assert 43_000 < (held_up.laggard_ms or 0) <= 45_000
    assert "ms for bob to revoke partitions" in str(held_up)
    assert (after.cause, after.left, after.evicted) == ("session expired", (lab.name("bob"),), ())


def test_reconciled_member_not_blamed_at_expiry(lab: Lab) -> None:
    six_shared(lab)
    lab.talk("eve beats {topics: [$topic]}\n  <- NONE")
    lab.talk(NEW_TARGET)
    lab.talk("ada disconnects")
    lab.laboratory.advance(46_000)
    held_up, after = lab.laboratory.recorder.history(lab.name("group"))[-2:]
    assert after.cause == "session expired"
    assert held_up.laggard == "ada"  # it gave up its partition, bob was not asked to yet
    assert (held_up.laggard_ms or 0) < 1_000
