"""Rights that are taken away: by rules of the laboratory, and by ACLs in the middle of a rebalance."""

from __future__ import annotations

import pytest

from kohort.broker.cluster.access import LOGGED_EVERY_MS
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.control_errors import ControlError
from kohort.control.groups.lab_group import Group
from kohort.security.principal import Principal
from tests.control.talking import Lab
from tests.security.acls_as_text import acl


def group(lab: Lab) -> Group:
    return Group(lab.laboratory, lab.name("group"))


def test_rule_denies_only_one_client(lab: Lab) -> None:
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


def test_denied_resources_are_hidden(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    with lab.faults.on("ListGroups").deny():
        lab.talk("""
            ada ListGroups v4
              <- NONE {groups: []}
            """)


def test_unauthorized_producer_gets_no_id(lab: Lab) -> None:
    asked = "ada InitProducerId v2 {transactional_id: null, transaction_timeout_ms: 60000}"
    lab.faults.on(client_id="ada").deny("Write", topic="orders")
    lab.talk(f"{asked}\n  <- NONE")
    lab.faults.on(client_id="ada").deny()
    lab.talk(f"{asked}\n  <- CLUSTER_AUTHORIZATION_FAILED")


def test_explain_names_missing_right(lab: Lab) -> None:
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
    (event,) = [event for event in group(lab).events if event.kind == "access_denied"]
    assert event.client_id == "ada"
    assert event.detail is not None
    assert event.detail["resource"] == f"GROUP:{group(lab).id}"


def test_denial_events_are_rate_limited(lab: Lab) -> None:
    lab.laboratory.record()
    lab.talk("given ada shares a stable group")
    lab.faults.on("Heartbeat").deny("Read")
    beats = "ada Heartbeat v4 {generation_id: 1}\n  <- GROUP_AUTHORIZATION_FAILED\n"
    lab.talk(beats * 2)
    lab.talk(f"wait {LOGGED_EVERY_MS} ms\n" + beats)
    told = [event.detail for event in group(lab).events if event.kind == "access_denied"]
    assert [None if event is None else event["n"] for event in told] == ["1", "3"]


def test_unsupported_denial_is_rejected(lab: Lab) -> None:
    with pytest.raises(ControlError, match="did you mean Read"):
        lab.faults.on().deny("Reed")
    with pytest.raises(ControlError, match="name one resource"):
        lab.faults.on().deny("Read", topic="t", group="g")


def test_acl_removed_during_rebalance_strands_member(lab: Lab) -> None:
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
    lab.side("bob").broker_connection.principal = Principal("User", "bob")
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
