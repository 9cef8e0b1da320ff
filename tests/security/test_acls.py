"""Which ACLs a filter means (acls §5)."""

import pytest

from kohort.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType
from tests.security.acls_as_text import acl

TOPIC = ResourceType.TOPIC
ACLS = {
    "same": acl("allow User:alice Read topic orders"),
    "prefix": acl("allow User:alice Read prefixed topic ord"),
    "any": acl("deny User:* All topic *"),
    "longer": acl("allow User:bob Write topic orders-1 from 10.0.0.1"),
    "group": acl("allow User:bob Read group orders"),
}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(), "same prefix any longer group"),
        (AclFilter(TOPIC, PatternType.LITERAL, "orders"), "same"),
        (AclFilter(TOPIC, PatternType.LITERAL, "*"), "any"),
        (AclFilter(TOPIC, PatternType.PREFIXED, "ord"), "prefix"),
        (AclFilter(TOPIC, PatternType.PREFIXED, "orders"), ""),
        (AclFilter(TOPIC, PatternType.ANY, "orders"), "same"),
        (AclFilter(TOPIC, PatternType.MATCH, "orders"), "same prefix any"),
        (AclFilter(TOPIC, PatternType.MATCH, "orders-1"), "prefix any longer"),
        (AclFilter(TOPIC, PatternType.MATCH), "same prefix any longer"),
        (AclFilter(TOPIC, PatternType.UNKNOWN), ""),
        (AclFilter(ResourceType.UNKNOWN), ""),
        (AclFilter(name=""), ""),
        (AclFilter(name="orders"), "same group"),
        (AclFilter(principal="User:*"), "any"),
        (AclFilter(principal="alice"), ""),
        (AclFilter(host="*"), "same prefix any group"),
        (AclFilter(host="10.0.0.1"), "longer"),
        (AclFilter(operation=Operation.ALL), "any"),
        (AclFilter(operation=Operation.READ), "same prefix group"),
        (AclFilter(permission=Permission.DENY), "any"),
        (AclFilter(operation=Operation.UNKNOWN), ""),
    ],
)
def test_filter_matches(wanted: AclFilter, found: str) -> None:
    assert [name for name, each in ACLS.items() if wanted.matches(each)] == found.split()


def test_acl_text() -> None:
    assert str(ACLS["longer"]) == "User:bob from 10.0.0.1: ALLOW WRITE on TOPIC:LITERAL:orders-1"
