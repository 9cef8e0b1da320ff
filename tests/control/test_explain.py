"""Groups in words."""

from kohort.control.groups.lab_group import Group
from kohort.groups.explanation import Explanation
from tests.control.talking import Lab

DELAY = "(group.initial.rebalance.delay.ms)"


def explained(lab: Lab) -> Explanation:
    return Group(lab.laboratory, lab.name("group")).explain()


def should(lab: Lab) -> dict[str, str]:
    return {client.client: client.should for client in explained(lab).clients}


def test_unknown_group(lab: Lab) -> None:
    assert "does not exist" in str(explained(lab))


def test_stable_group_awaits_only_heartbeats(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group
        wait 4000 ms
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        """)
    told = explained(lab)
    assert (told.waits, told.badly_set) == ((), ())
    assert [(client.client, client.should, client.session_ends_in_ms, client.is_alive) for client in told.clients] == [
        ("ada", "should send heartbeats", 10_000, True),
        ("bob", "should send heartbeats", 6_000, True),
    ]
    assert str(told).splitlines()[1:] == [
        "  waits for nothing",
        "  ada: should send heartbeats; its session ends in 10 s",
        "  bob: should send heartbeats; its session ends in 6 s",
    ]


def test_join_phase_names_members_and_timer(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group {rebalance_timeout_ms: 20000}
        bob JoinGroup v9 {rebalance_timeout_ms: 20000, protocols: {range: new}}
          <- nothing for 1500 ms
        """)
    (wait,) = explained(lab).waits
    assert (wait.for_whom, wait.what, wait.ends_in_ms) == (("ada",), "to join (JoinGroup)", 18_500)
    assert "removed" in wait.then
    assert should(lab)["bob"] == "has joined, and waits for the other members"
    assert "REBALANCE_IN_PROGRESS" in should(lab)["ada"]


def test_waiting_request_needs_no_session(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group
        bob JoinGroup v9 {protocols: {range: new}}
          <- nothing for 1000 ms
        """)
    assert [client.session_ends_in_ms for client in explained(lab).clients] == [9_000, None]


def test_static_members_are_distinguished_from_expiring(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group {ada: {group_instance_id: one}}
        bob JoinGroup v9 {protocols: {range: new}}
          <- nothing for 10 ms
        """)
    (wait,) = explained(lab).waits
    assert wait.for_whom == ("one",)
    assert "they are static and stay members" in wait.then


def test_silently_departed_member_is_named(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group
        ada disconnects
        bob JoinGroup v9 {protocols: {range: new}}
          <- nothing for 10 ms
        """)
    assert "it cannot do so" in str(explained(lab).clients[0])


def test_pending_member_id_is_awaited(lab: Lab) -> None:
    lab.talk("""
        given ada shares a stable group
        bob JoinGroup v9 {member_id: "", session_timeout_ms: 6000}
          <- MEMBER_ID_REQUIRED {member_id: $bob}
        wait 1000 ms
        """)
    (wait,) = explained(lab).waits
    assert (wait.for_whom, wait.ends_in_ms) == ((lab.name("bob"),), 5_000)
    lab.talk("""
        ada JoinGroup v9 {protocols: {range: new}}
          <- nothing for 10 ms
        """)
    assert explained(lab).waits[0].what == "clients to join with the ids they received"


def test_leader_is_awaited_after_join_phase(lab: Lab) -> None:
    lab.talk("""
        given ada shares a stable group
        bob joins
          <- nothing for 10 ms
        ada JoinGroup v9 {rebalance_timeout_ms: 20000}
          <- NONE {generation_id: 2, leader: $ada}
        bob <- NONE {generation_id: 2}
        bob SyncGroup v5 {generation_id: 2}
          <- nothing for 500 ms
        """)
    (wait,) = explained(lab).waits
    assert (wait.for_whom, wait.ends_in_ms) == (("ada",), 29_500)
    assert "the leader ada" in wait.what
    assert should(lab) == {
        "ada": "should assign the partitions (SyncGroup), as the leader",
        "bob": "has synced, and waits for its assignment",
    }


def test_stable_group_may_await_sync(lab: Lab) -> None:
    lab.talk("""
        given ada shares a stable group
        bob joins
          <- nothing for 10 ms
        ada JoinGroup v9
          <- NONE {generation_id: 2}
        bob <- NONE {generation_id: 2}
        ada SyncGroup v5 {generation_id: 2, assignments: {$ada: x, $bob: y}}
          <- NONE
        """)
    (wait,) = explained(lab).waits
    assert wait.for_whom == ("bob",)
    assert wait.what == "to sync (SyncGroup)"
    assert should(lab) == {"ada": "should send heartbeats", "bob": "should request its assignment (SyncGroup)"}


def test_initial_delay_is_explained() -> None:
    lab = Lab("initial-delay")
    lab.talk("""
        ada joins
          <- nothing for 0 ms
        """)
    (first,) = explained(lab).waits
    lab.talk("""
        bob joins
          <- nothing for 400 ms
        """)
    (wait,) = explained(lab).waits
    lab.stage.close()
    assert (wait.for_whom, wait.ends_in_ms) == ((), 600)
    assert str(first) == f"more members {DELAY}; in 1 s: the first generation starts with the current members"
    assert str(wait).startswith(f"more members {DELAY}; in 0.6 s: another round, since a member joined in this one")


def test_conflicting_settings_are_named(lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group {bob: {session_timeout_ms: 40000,
          rebalance_timeout_ms: 35000, protocols: {sticky: m, range: m}}}
        """)
    assert explained(lab).badly_set == (
        "only bob lists the assignor sticky, which is therefore never chosen; all members list range",
        "the members' session.timeout.ms differs: 10 s (ada), 40 s (bob); each has its own",
        "the members' rebalance timeout differs: 30 s (ada), 35 s (bob); the longest counts for all",
        "bob's rebalance timeout (35 s; in Java max.poll.interval.ms) is shorter than its session (40 s)",
    )
    assert str(explained(lab)).count("badly set:") == 4


def test_rare_heartbeats_are_noticed_while_observed(lab: Lab) -> None:
    lab.laboratory.cluster.group_events.listen(lambda recorded: None)
    lab.talk("given ada shares a stable group")
    for _ in range(3):
        lab.talk("""
            wait 4000 ms
            ada Heartbeat v4 {generation_id: 1}
              <- NONE
            """)
    (told,) = explained(lab).badly_set
    assert told.startswith("ada sends a heartbeat every 4 s, more than a third of its session (10 s)")


def test_shared_client_id_uses_member_ids(lab: Lab) -> None:
    lab.talk("""
        ada connects as worker
        bob connects as worker
        given ada, bob share a stable group
        """)
    assert list(should(lab)) == [lab.name("ada"), lab.name("bob")]


def test_restarts_under_new_ids_are_reported(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given bob shares a stable group")
    for restarts in range(3):
        told = [sentence for sentence in explained(lab).badly_set if sentence.startswith("bob has come back")]
        assert len(told) == (restarts >= 2)
        lab.talk("bob LeaveGroup v1\n  <- NONE\ngiven bob shares a stable group")
    assert "bob has come back 3 times under a new member id" in explained(lab).badly_set[-1]


def test_static_member_restarts_are_ignored(lab: Lab) -> None:
    lab.laboratory.record()
    for _ in range(3):
        lab.talk("""
            given bob shares a stable group {group_instance_id: one}
            bob LeaveGroup v1
              <- NONE
            """)
    lab.talk("given bob shares a stable group {group_instance_id: one}")
    assert explained(lab).badly_set == ()
