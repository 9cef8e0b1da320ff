"""ACLs as a line of text: `allow User:alice Read prefixed topic orders from 10.0.0.1`."""

import re

from kohort.security.acls import AclBinding, Operation, PatternType, Permission, ResourceType

_LINE = re.compile(
    r"(?P<permission>allow|deny) (?P<principal>\S+) (?P<operation>\w+) (?P<prefixed>prefixed )?"
    r"(?P<type>topic|group|cluster|transactional id|user) (?P<name>\S+)(?: from (?P<host>\S+))?"
)


def acl(text: str) -> AclBinding:
    found = _LINE.fullmatch(text)
    assert found, text
    return AclBinding(
        ResourceType[found["type"].upper().replace(" ", "_")],
        PatternType.PREFIXED if found["prefixed"] else PatternType.LITERAL,
        found["name"],
        found["principal"],
        found["host"] or "*",
        Operation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", found["operation"]).upper()],
        Permission[found["permission"].upper()],
    )
