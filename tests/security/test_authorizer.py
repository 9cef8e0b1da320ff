"""Decisions of the authorizer: each rule by an example, and all of them against a walk over every ACL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.security.acls import CLUSTER_NAME, AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.security.authorizer import IMPLIED_BY, LONGEST_REMEMBERED, MOST_REMEMBERED, Authorizer, Decision
from kohort.security.principal import ANONYMOUS, Principal
from kohort.security.rights import (
    ALL_OPERATIONS,
    ALTER_CLUSTER,
    ALTER_CONFIGS_TOPIC,
    DELETE_TOPIC,
    DESCRIBE_CONFIGS_TOPIC,
    DESCRIBE_TOPIC,
    IDEMPOTENT_WRITE,
    READ_GROUP,
    READ_TOPIC,
    REPORTED_RIGHTS,
    WRITE_TOPIC,
    Right,
)
from tests.security.acls_as_text import acl
from tests.support.effort import examples

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
HERE = "127.0.0.1"


def allows(authorizer: Authorizer, right: Right, name: str = "t", who: Principal = ALICE, host: str = HERE) -> bool:
    """What is remembered is what is decided; asked twice, so that both ways answer."""
    allowed = authorizer.decide(who, host, right, name).allowed
    assert authorizer.allows(who, host, right, name) is allowed
    assert authorizer.allows(who, host, right, name) is allowed
    return allowed


def test_nothing_is_allowed_by_default() -> None:
    authorizer = Authorizer()
    assert authorizer.decide(ALICE, HERE, READ_TOPIC, "t") == Decision(False, "DefaultDeny")
    assert not allows(authorizer, READ_TOPIC)


def test_super_user_overrides_deny() -> None:
    authorizer = Authorizer([acl("deny User:* All topic t")], super_users=["User:alice"])
    assert authorizer.decide(ALICE, HERE, READ_TOPIC, "t") == Decision(True, "SuperUser")
    assert not allows(authorizer, READ_TOPIC, who=Principal("user", "alice"))


def test_deny_overrides_narrow_allow() -> None:
    denial = acl("deny User:* Read prefixed topic t")
    authorizer = Authorizer([acl("allow User:alice Read topic t-1"), denial])
    assert authorizer.decide(ALICE, HERE, READ_TOPIC, "t-1") == Decision(False, denial)


def test_literal_prefixed_and_wildcard_apply() -> None:
    authorizer = Authorizer(
        [
            acl("allow User:alice Read topic a"),
            acl("allow User:alice Read prefixed topic b"),
            acl("allow User:bob Read topic *"),
        ]
    )
    assert [allows(authorizer, READ_TOPIC, name) for name in ("a", "ab", "b", "bc", "c", "")] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]
    assert allows(authorizer, READ_TOPIC, "c", BOB)
    assert not allows(authorizer, READ_GROUP, "a")


def test_hosts_are_compared_as_text() -> None:
    authorizer = Authorizer([acl("allow User:alice Read topic t from 10.0.0.1")])
    assert [allows(authorizer, READ_TOPIC, host=host) for host in ("10.0.0.1", "10.0.0.10", HERE)] == [
        True,
        False,
        False,
    ]


def test_wildcard_principal_includes_anonymous() -> None:
    authorizer = Authorizer([acl("allow User:* Read topic t")])
    assert [allows(authorizer, READ_TOPIC, who=who) for who in (ANONYMOUS, BOB, Principal("Team", "alice"))] == [
        True,
        True,
        True,
    ]
    # `User:*` stands for everybody, of whatever type; so it is in StandardAuthorizerData.
    assert not allows(Authorizer([acl("allow Team:alice Read topic t")]), READ_TOPIC)


@pytest.mark.parametrize("operation", ["Read", "Write", "Delete", "Alter"])
def test_operations_imply_describe(operation: str) -> None:
    assert allows(Authorizer([acl(f"allow User:alice {operation} topic t")]), DESCRIBE_TOPIC)
    assert not allows(Authorizer([acl(f"allow User:alice {operation} topic t")]), DESCRIBE_CONFIGS_TOPIC)


def test_alter_configs_implies_describe_configs_alone() -> None:
    authorizer = Authorizer([acl("allow User:alice AlterConfigs topic t")])
    assert allows(authorizer, DESCRIBE_CONFIGS_TOPIC)
    assert allows(authorizer, ALTER_CONFIGS_TOPIC)
    assert not allows(authorizer, DESCRIBE_TOPIC)


def test_denials_imply_nothing() -> None:
    acls = [acl("allow User:alice All topic t"), acl("deny User:alice Read topic t")]
    assert not allows(Authorizer(acls), READ_TOPIC)
    assert allows(Authorizer(acls), DESCRIBE_TOPIC)
    assert not allows(Authorizer([*acls, acl("deny User:alice All topic t")]), DELETE_TOPIC)


def test_change_takes_effect_immediately() -> None:
    authorizer, may = Authorizer(), acl("allow User:alice Read topic t")
    for _ in range(2):
        assert not allows(authorizer, READ_TOPIC)
        authorizer.add(may)
        authorizer.add(may)
        assert allows(authorizer, READ_TOPIC)
        authorizer.remove(may)
    assert not allows(authorizer, READ_TOPIC)


def test_cache_limits() -> None:
    authorizer = Authorizer([acl("allow User:alice Read prefixed topic t")])
    long = "t" * (LONGEST_REMEMBERED + 1)
    assert allows(authorizer, READ_TOPIC, long)
    assert not allows(authorizer, READ_TOPIC, long, Principal("User", long))
    assert len(authorizer._remembered) == 0
    for number in range(MOST_REMEMBERED + 1):
        assert authorizer.allows(ALICE, HERE, READ_TOPIC, f"t{number}")
    assert len(authorizer._remembered) == 1


def test_everyone_may_where_nothing_is_said() -> None:
    authorizer = Authorizer(allow_everyone=True)
    assert authorizer.decide(BOB, HERE, WRITE_TOPIC, "t") == Decision(True, "DefaultAllow")
    closing = acl("deny User:bob Write prefixed topic t")
    authorizer.add(closing)
    assert not allows(authorizer, DESCRIBE_TOPIC, "t-1")
    assert not allows(authorizer, READ_TOPIC, "t-1", BOB)
    assert allows(authorizer, READ_TOPIC, "u")
    authorizer.remove(closing)
    assert allows(authorizer, DESCRIBE_TOPIC, "t-1")


@pytest.mark.parametrize(
    ("said", "bits"),
    [
        ("allow User:alice Read topic t", 264),
        ("allow User:alice Write topic t", 272),
        ("allow User:alice Delete topic t", 320),
        ("allow User:alice All topic t", 3576),
        ("allow User:alice Create topic t", 32),
        ("deny User:alice All topic t", 0),
    ],
)
def test_authorized_operations_are_bits(said: str, bits: int) -> None:
    assert Authorizer([acl(said)]).operations(ALICE, HERE, ResourceType.TOPIC, "t") == bits


def test_all_operations_of_resource_type() -> None:
    assert ALL_OPERATIONS == {ResourceType.TOPIC: 3576, ResourceType.GROUP: 3400, ResourceType.CLUSTER: 8096}


@pytest.mark.parametrize(
    ("said", "allowed"),
    [
        ([], False),
        (["allow User:alice Write topic a"], True),
        (["allow User:bob Write topic a"], False),
        (["allow User:alice Write topic a from 10.0.0.1"], False),
        (["allow User:alice Read topic a"], False),
        (["allow User:alice All prefixed topic a"], True),
        (["allow User:alice Write topic a", "deny User:alice Write topic a"], False),
        (["allow User:alice Write prefixed topic a", "deny User:alice Write topic a"], True),
        (["allow User:alice Write prefixed topic ab", "deny User:alice All prefixed topic a"], False),
        (["allow User:alice Write topic ab", "deny User:* Write prefixed topic ab"], False),
        (["allow User:alice Write prefixed topic a", "deny User:alice Write prefixed topic ab"], True),
        (["allow User:alice Write topic *", "deny User:alice Write prefixed topic a"], True),
        (["allow User:alice Write topic *", "deny User:alice Write topic *"], False),
        (["allow User:alice Write topic a", "deny User:alice Write topic *"], False),
        (["allow User:alice Write topic a", "deny User:alice Read topic *"], True),
        (["allow User:alice Write group a"], False),
    ],
)
def test_write_on_any_topic(said: list[str], allowed: bool) -> None:
    assert Authorizer(map(acl, said)).allows_on_any(ALICE, HERE, WRITE_TOPIC) is allowed


def test_super_user_may_write_any_topic() -> None:
    authorizer = Authorizer([acl("deny User:alice Write topic *")], super_users=["User:alice"])
    assert authorizer.allows_on_any(ALICE, HERE, WRITE_TOPIC)
    assert Authorizer(allow_everyone=True).allows_on_any(ALICE, HERE, WRITE_TOPIC)


def test_cluster_is_a_resource() -> None:
    authorizer = Authorizer([acl(f"allow User:alice Alter cluster {CLUSTER_NAME}")])
    assert allows(authorizer, ALTER_CLUSTER, CLUSTER_NAME)
    assert not allows(authorizer, IDEMPOTENT_WRITE, CLUSTER_NAME)


# The same by a walk over all ACLs, in the words of the specification

NAMES = ["a", "ab", "abc", "b", "*", ""]
PRINCIPALS = [ALICE, BOB, ANONYMOUS]
HOSTS = [HERE, "10.0.0.1"]
RIGHTS = [right for rights in REPORTED_RIGHTS.values() for right in rights]

ACLS = st.builds(
    AclBinding,
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(NAMES[:-1]),
    st.sampled_from(["User:alice", "User:bob", "User:*", "user:alice"]),
    st.sampled_from(["*", *HOSTS]),
    st.sampled_from([Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALTER_CONFIGS]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)


def walked(acls: list[AclBinding], who: Principal, host: str, right: Right, name: str, open_to_all: bool) -> bool:
    """acls §1, §3: one line a rule, without index or memory."""
    about = [
        each
        for each in acls
        if each.resource_type == right.resource_type
        and (
            name.startswith(each.name)
            if each.pattern_type == PatternType.PREFIXED
            else each.name == name or each.name == "*"
        )
    ]
    mine = [each for each in about if each.principal in (str(who), "User:*") and each.host in (host, "*")]
    enough = {right.operation, Operation.ALL, *IMPLIED_BY.get(right.operation, ())}
    if any(each.permission == Permission.DENY and each.operation in (right.operation, Operation.ALL) for each in mine):
        return False
    if any(each.permission == Permission.ALLOW and each.operation in enough for each in mine):
        return True
    return open_to_all and not about


@pytest.mark.long
@examples(1.5)
@given(st.lists(ACLS, max_size=12), st.lists(ACLS, max_size=6), st.booleans(), st.data())
def test_index_and_memory_change_no_decision(
    first: list[AclBinding], toggled: list[AclBinding], open_to_all: bool, data: st.DataObject
) -> None:
    authorizer = Authorizer(first, allow_everyone=open_to_all)
    there = list(dict.fromkeys(first))
    for each in [None, *toggled]:
        if each in there:
            there.remove(each)
            authorizer.remove(each)
        elif each is not None:
            there.append(each)
            authorizer.add(each)
        assert list(authorizer.acls) == there
        for _ in range(8):
            who, host = data.draw(st.sampled_from(PRINCIPALS)), data.draw(st.sampled_from(HOSTS))
            right, name = data.draw(st.sampled_from(RIGHTS)), data.draw(st.sampled_from(NAMES))
            assert allows(authorizer, right, name, who, host) is walked(there, who, host, right, name, open_to_all)
