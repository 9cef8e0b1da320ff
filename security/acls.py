"""ACLs and ACL filters. The numbers are those of Kafka's messages.

Source: Kafka's `AclBinding`, `AclBindingFilter`, `ResourcePatternFilter`; KIP-140, KIP-290.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeVar

WILDCARD = "*"  # matches any name of a LITERAL pattern, any principal name, and any host

EVERYBODY = "User:*"  # principal of an ACL for all principals, including ANONYMOUS

CLUSTER_NAME = "kafka-cluster"  # name of the one resource of type CLUSTER


class ResourceType(IntEnum):
    """Type of the resource that an ACL protects."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """Interpretation of an ACL's resource name. ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """Operation that an ACL allows or denies."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Effect of an ACL."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


CodeT = TypeVar("CodeT", bound=IntEnum)


def known_or_unknown(codes: type[CodeT], code: int) -> CodeT:
    """Return the member of `codes` with this number, or UNKNOWN, which is 0."""
    try:
        return codes(code)
    except ValueError:
        return codes(0)


class AclBinding(NamedTuple):
    """One ACL. `principal` is `User:alice`; `host` is an address as text, or `*`."""

    resource_type: ResourceType
    pattern_type: PatternType
    name: str
    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        return (
            f"{self.principal} from {self.host}: {self.permission.name} {self.operation.name} on "
            f"{self.resource_type.name}:{self.pattern_type.name}:{self.name}"
        )

    def applies_to(self, name: str) -> bool:
        """Return whether the ACL applies to the resource name, given the same resource type."""
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)

    def is_about(self, principal: str, host: str) -> bool:
        return self.principal in (principal, EVERYBODY) and self.host in (host, WILDCARD)


class AclFilter(NamedTuple):
    """A filter for ACLs. None and ANY match all; everything else is compared exactly."""

    resource_type: ResourceType = ResourceType.ANY
    pattern_type: PatternType = PatternType.ANY
    name: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def matches(self, acl: AclBinding) -> bool:
        """Return whether the filter matches an ACL. UNKNOWN values match none."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _matches_pattern(self, acl: AclBinding) -> bool:
        """Compare the pattern: MATCH finds all ACLs that apply to the resource name, others the name itself."""
        if self.pattern_type == PatternType.MATCH:
            return self.name is None or acl.applies_to(self.name)
        return self.pattern_type in (PatternType.ANY, acl.pattern_type) and self.name in (None, acl.name)
