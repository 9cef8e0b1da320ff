"""Rights that are taken away: by rules of the laboratory, and by ACLs in the middle of a rebalance."""

from __future__ import annotations

import pytest

from kohort.broker.cluster.access import LOGGED_EVERY_MS
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.control_errors import ControlError
from kohort.control.lab_group import Group
from kohort.security.principal import Principal
from tests.control.talking import Lab
from tests.security.acls_as_text import acl


def group(lab: Lab) -> Group:
    return Group(lab.laboratory, lab.name("group"))


def test_a_rule_denies_one_client_an_operation_and_the_others_go_on(lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group")
    rule = lab.faults.on(client_id="bob").deny("Read", group="group*")
    lab.talk("""
        ada Heartbeat v4 {generation_id: 2}
          <- NONE
        bob Heartbeat v4 {generation_id: 2}
          <- GROUP_AUTHORIZATION_FAILED
        bob OffsetFetch v7 {offsets: {}}
          <- NONE
        """)
    assert rule.acted == 1
    rule.remove()
    lab.talk("""
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        """)


def test_what_is_denied_on_everything_is_hidden_too(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    with lab.faults.on("ListGroups").deny():
        lab.talk("""
            ada ListGroups v4
              <- NONE {groups: []}
            """)


def test_a_producer_without_any_right_gets_no_id(lab: Lab) -> None:
    asked = "ada InitProducerId v2 {transactional_id: null, transaction_timeout_ms: 60000}"
    lab.faults.on(client_id="ada").deny("Write", topic="orders")
    lab.talk(f"{asked}\n  <- NONE")
    lab.faults.on(client_id="ada").deny()
    lab.talk(f"{asked}\n  <- CLUSTER_AUTHORIZATION_FAILED")


def test_explain_says_which_right_a_member_lacks_and_events_tell_of_it(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given ada shares a stable group")
    with lab.faults.on("Heartbeat").deny("Read"):
        lab.talk("""
            ada Heartbeat v4 {generation_id: 1}
              <- GROUP_AUTHORIZATION_FAILED
            ada Heartbeat v4 {generation_id: 1}
              <- GROUP_AUTHORIZATION_FAILED
            """)
        (text,) = group(lab).explain().denied
        assert text.startswith("ada (User:ANONYMOUS from ")
        assert "was refused its Heartbeat 2 times" in text
        assert text.endswith(f"it needs Read on group {group(lab).id}, which a rule of the laboratory denies")
        assert "  denied: ada" in str(group(lab).explain())
    assert group(lab).explain().denied == ()
    (event,) = [each for each in group(lab).events if each.kind == "access_denied"]
    assert event.client_id == "ada"
    assert event.detail is not None
    assert event.detail["resource"] == f"GROUP:{group(lab).id}"


def test_an_event_comes_at_most_every_ten_seconds(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given ada shares a stable group")
    lab.faults.on("Heartbeat").deny("Read")
    beats = "ada Heartbeat v4 {generation_id: 1}\n  <- GROUP_AUTHORIZATION_FAILED\n"
    lab.talk(beats * 2)
    lab.talk(f"wait {LOGGED_EVERY_MS} ms\n" + beats)
    told = [each.detail for each in group(lab).events if each.kind == "access_denied"]
    assert [None if each is None else each["n"] for each in told] == ["1", "3"]


def test_what_cannot_be_denied_is_refused(lab: Lab) -> None:
    with pytest.raises(ControlError, match="did you mean Read"):
        lab.faults.on().deny("Reed")
    with pytest.raises(ControlError, match="name one resource"):
        lab.faults.on().deny("Read", topic="t", group="g")


def test_an_acl_that_goes_in_the_middle_of_a_rebalance_leaves_a_member_behind(lab: Lab) -> None:
    """Nobody is removed for it. The rebalance waits for who may not join, and explain says why."""
    cluster = lab.laboratory.cluster
    cluster.settings.authorizer_class_name = STANDARD_AUTHORIZER
    cluster.ask_for_rights()
    assert cluster.access is not None
    may, bobs = acl("allow User:ANONYMOUS All group *"), acl("deny User:bob Read group *")
    cluster.access.add([may])
    lab.talk("""
        given ada, bob share a stable group {rebalance_timeout_ms: 5000}
        ada JoinGroup v9 {protocols: {range: n}}
          <- nothing for 150 ms
        """)
    lab.line("bob")._connection.principal = Principal("User", "bob")
    bobs_group = acl("allow User:bob All group *")
    cluster.access.add([bobs_group, bobs])
    lab.talk("""
        bob JoinGroup v9
          <- GROUP_AUTHORIZATION_FAILED
        """)
    assert lab.state() == "PreparingRebalance"
    (text,) = group(lab).explain().denied
    assert "bob (User:bob from" in text
    assert text.endswith("; the ACL (User:bob from *: DENY READ on GROUP:LITERAL:*) denies it")
    cluster.access.remove([bobs, bobs_group])
    (text,) = group(lab).explain().denied
    command = f"kafka-acls --add --allow-principal 'User:bob' --operation Read --group '{group(lab).id}'"
    assert text.endswith(f"; no ACL allows it: {command}")
    cluster.access.add([bobs_group])
    assert group(lab).explain().denied == ()
    lab.talk("""
        bob JoinGroup v9
          <- NONE {generation_id: 3}
        ada <- NONE {generation_id: 3}
        """)
