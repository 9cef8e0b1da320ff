"""Authorization decisions of Kafka's StandardAuthorizer.

Super users are allowed everything. Otherwise a DENY that applies wins, however narrow the ALLOW. Then an ALLOW for the
operation or one that implies it. Then `allow.everyone.if.no.acl.found`, if no ACL exists for the resource.
Source: acls §1, §2, §3, §4; Kafka's `StandardAuthorizerData`, `Authorizer.authorizeByResourceType`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kohort.security.acl_index import AclIndex
from kohort.security.acls import WILDCARD, AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.security.principal import Principal
from kohort.security.rights import REPORTED_RIGHTS, Right

# Cached decisions, about 30 MB. Clients can use any number of names; the cache is emptied when it is full.
MOST_REMEMBERED = 100_000

# Maximum length of a cached resource or principal name. Group ids can have 32,767 characters and are not cached.
LONGEST_REMEMBERED = 255

IMPLIED_BY: dict[Operation, frozenset[Operation]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}  # An ALLOW of one of these also allows the operation. A DENY implies nothing.


class Decision(NamedTuple):
    """Whether an operation is allowed, and the reason: an ACL, or the name of a rule as in Kafka's log."""

    allowed: bool
    rule: AclBinding | str


class Authorizer:
    """Decides and caches decisions until an ACL changes."""

    def __init__(
        self, acls: Iterable[AclBinding] = (), *, super_users: Iterable[str] = (), allow_everyone: bool = False
    ) -> None:
        """Create an authorizer.

        Args:
            super_users: Principals such as `User:admin`.
            allow_everyone: Allow operations on resources without any ACL.
        """
        self.acls = AclIndex(acls)
        self.super_users = frozenset(super_users)
        self._allow_everyone = allow_everyone
        self._remembered: dict[tuple[Principal, str, Right, str], bool] = {}

    def allows(self, principal: Principal, host: str, right: Right, name: str) -> bool:
        """Return whether a principal from `host`, an address as text, has a right on the named resource."""
        key = (principal, host, right, name)
        decision = self._remembered.get(key)
        if decision is None:
            if len(name) > LONGEST_REMEMBERED or len(principal.name) > LONGEST_REMEMBERED:
                return self.decide(principal, host, right, name).allowed
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            decision = self._remembered[key] = self.decide(principal, host, right, name).allowed
        return decision

    def decide(self, principal: Principal, host: str, right: Right, name: str) -> Decision:
        """Return the uncached decision with its reason."""
        principal_text = str(principal)
        if principal_text in self.super_users:
            return Decision(True, "SuperUser")
        operation = right.operation
        denying = (operation, Operation.ALL)
        allowing = {operation, Operation.ALL} | IMPLIED_BY.get(operation, frozenset())
        any_acl, allow = False, None
        for acl in self.acls.applying(right.resource_type, name):
            any_acl = True
            if not acl.is_about(principal_text, host):
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
        """Return whether the right could be granted for some resource name (acls §4)."""
        if self.decide(principal, host, right, "hardcode").allowed:  # Kafka checks this name first
            return True
        principal_text, operations = str(principal), (right.operation, Operation.ALL)
        allowed, denied = [], set()
        for acl in self.acls:
            if (
                acl.resource_type == right.resource_type
                and acl.is_about(principal_text, host)
                and acl.operation in operations
            ):
                if acl.permission == Permission.ALLOW:
                    allowed.append(acl)
                else:
                    denied.add((acl.pattern_type, acl.name))
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_taken_back(acl, denied) for acl in allowed)

    def operations(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        """Return the allowed operations on a resource as bits: bit 3 is READ."""
        return sum(
            1 << right.operation
            for right in REPORTED_RIGHTS[resource_type]
            if self.allows(principal, host, right, name)
        )

    def add(self, acl: AclBinding) -> None:
        self.acls.add(acl)
        self._remembered.clear()

    def remove(self, acl: AclBinding) -> None:
        """Remove an existing ACL."""
        self.acls.remove(acl)
        self._remembered.clear()


def _is_taken_back(acl: AclBinding, denied: set[tuple[PatternType, str]]) -> bool:
    """Return whether a DENY covers everything that this ALLOW allows."""
    if acl.pattern_type == PatternType.LITERAL:
        if acl.name == WILDCARD:
            return False
        if (PatternType.LITERAL, acl.name) in denied:
            return True
    prefixes = (acl.name[:length] for length in range(1, len(acl.name) + 1))
    return any((PatternType.PREFIXED, prefix) in denied for prefix in prefixes)
