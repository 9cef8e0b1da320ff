"""Who may do what: the decisions of Kafka's StandardAuthorizer.

A super user may do everything. Then a DENY that applies counts, however narrow the ALLOW. Then an ALLOW, of the
operation or of one that implies it. Then `allow.everyone.if.no.acl.found`, where no ACL is about the resource at all.
Source: acls §1, §2, §3, §4; Kafka's `StandardAuthorizerData`, `Authorizer.authorizeByResourceType`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kohort.security.acl_index import AclIndex
from kohort.security.acls import WILDCARD, AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.security.principal import Principal
from kohort.security.rights import TOLD, Right

MOST_REMEMBERED = 100_000
"""Decisions kept, some 30 MB. A client may ask about any number of names; beyond, all are forgotten and made anew."""

LONGEST_REMEMBERED = 255
"""Characters of a name that is remembered, of a principal's too. Group ids may have 32,767: those are decided anew."""

IMPLIED_BY: dict[Operation, frozenset[Operation]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}
"""An ALLOW of one of these is one of the operation, too. A DENY implies nothing."""


class Decision(NamedTuple):
    """Whether something is allowed, and by which rule: an ACL, or the name of a rule as Kafka's log has it."""

    allowed: bool
    rule: AclBinding | str


class Authorizer:
    """Decides, and remembers what it has decided until an ACL changes."""

    def __init__(
        self, acls: Iterable[AclBinding] = (), *, super_users: Iterable[str] = (), allow_everyone: bool = False
    ) -> None:
        """`super_users`: as `User:admin`. `allow_everyone`: where no ACL is about a resource at all."""
        self.acls = AclIndex(acls)
        self.super_users = frozenset(super_users)
        self._allow_everyone = allow_everyone
        self._remembered: dict[tuple[Principal, str, Right, str], bool] = {}

    def allows(self, principal: Principal, host: str, right: Right, name: str) -> bool:
        """Whether somebody may do that to the resource of that name. `host`: the client's address as text."""
        key = (principal, host, right, name)
        known = self._remembered.get(key)
        if known is None:
            if len(name) > LONGEST_REMEMBERED or len(principal.name) > LONGEST_REMEMBERED:
                return self.decide(principal, host, right, name).allowed
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[key] = self.decide(principal, host, right, name).allowed
        return known

    def decide(self, principal: Principal, host: str, right: Right, name: str) -> Decision:
        """`allows` with its reason; nothing is remembered."""
        who = str(principal)
        if who in self.super_users:
            return Decision(True, "SuperUser")
        operation = right.operation
        denying = (operation, Operation.ALL)
        allowing = {operation, Operation.ALL} | IMPLIED_BY.get(operation, frozenset())
        any_acl, allow = False, None
        for acl in self.acls.applying(right.resource_type, name):
            any_acl = True
            if not acl.is_about(who, host):
                continue
            if acl.permission == Permission.DENY:
                if acl.operation in denying:
                    return Decision(False, acl)
            elif allow is None and acl.operation in allowing:
                allow = acl
        if allow is not None:
            return Decision(True, allow)
        return (
            Decision(True, "DefaultAllow") if self._allow_everyone and not any_acl else Decision(False, "DefaultDeny")
        )

    def allows_on_any(self, principal: Principal, host: str, right: Right) -> bool:
        """Whether some name is thinkable to which this is allowed (acls §4)."""
        if self.decide(principal, host, right, "hardcode").allowed:  # Kafka asks for this very name first
            return True
        who, operations = str(principal), (right.operation, Operation.ALL)
        allowed, denied = [], set()
        for acl in self.acls:
            if acl.resource_type == right.resource_type and acl.is_about(who, host) and acl.operation in operations:
                if acl.permission == Permission.ALLOW:
                    allowed.append(acl)
                else:
                    denied.add((acl.pattern_type, acl.name))
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_taken_back(acl, denied) for acl in allowed)

    def operations(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        """The operations somebody may do to a resource, as bits: bit 3 is READ."""
        return sum(1 << right.operation for right in TOLD[resource_type] if self.allows(principal, host, right, name))

    def add(self, acl: AclBinding) -> None:
        """From now on this ACL counts."""
        self.acls.add(acl)
        self._remembered.clear()

    def remove(self, acl: AclBinding) -> None:
        """From now on this ACL, which is there, does not count."""
        self.acls.remove(acl)
        self._remembered.clear()


def _is_taken_back(acl: AclBinding, denied: set[tuple[PatternType, str]]) -> bool:
    """Whether a DENY covers all that this ALLOW allows."""
    if acl.pattern_type == PatternType.LITERAL:
        if acl.name == WILDCARD:
            return False
        if (PatternType.LITERAL, acl.name) in denied:
            return True
    prefixes = (acl.name[:length] for length in range(1, len(acl.name) + 1))
    return any((PatternType.PREFIXED, prefix) in denied for prefix in prefixes)
