"""Which ACLs `kohort admin acls` means, as requests of Kafka's; and what was answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kohort.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsMatchingAcl, DeleteAclsRequest
from kohort.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kohort.security.acls import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    known,
)
from kohort.security.rights import TOLD

MEANING = {
    ErrorCode.security_disabled: "the brokers keep no ACLs; start them with the setting authorizer.class.name",
    ErrorCode.cluster_authorization_failed: "to list ACLs a user needs DESCRIBE on the cluster, to change them ALTER",
}
"""What a refusal of a whole request asks for."""


SUPPORTED = {kind: tuple(right.operation for right in rights) for kind, rights in TOLD.items()} | {
    ResourceType.TRANSACTIONAL_ID: (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT)
}
"""The operations of each type of resource."""


class Resources(NamedTuple):
    """Those that the command line names."""

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    cluster: bool = False
    pattern: PatternType = PatternType.LITERAL

    def patterns(self) -> list[tuple[ResourceType, PatternType, str]]:
        """Type, pattern and name of each. The cluster has but one name, so its pattern is LITERAL."""
        named = [(ResourceType.TOPIC, self.pattern, each) for each in self.topics]
        named += [(ResourceType.GROUP, self.pattern, each) for each in self.groups]
        named += [(ResourceType.TRANSACTIONAL_ID, self.pattern, each) for each in self.transactional_ids]
        if self.cluster:
            named.append((ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME))
        return named


class Rights(NamedTuple):
    """Who is allowed or denied what. As with `kafka-acls`: all operations and any host, unless some are named."""

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    denied_hosts: tuple[str, ...] = ()

    def entries(self) -> Iterator[tuple[str, str, Operation, Permission]]:
        """Principal, host, operation and permission of each."""
        operations = self.operations or (Operation.ALL,)
        for permission, principals, hosts in (
            (Permission.ALLOW, self.allowed, self.allowed_hosts),
            (Permission.DENY, self.denied, self.denied_hosts),
        ):
            for principal, host, operation in product(principals, hosts or (WILDCARD,), operations):
                yield principal, host, operation, permission


def bindings(resources: Resources, rights: Rights) -> list[AclBinding]:
    """The ACLs to be made: every right for every resource."""
    return [
        AclBinding(kind, pattern, name, principal, host, operation, permission)
        for kind, pattern, name in resources.patterns()
        for principal, host, operation, permission in rights.entries()
    ]


def pointless(acls: Iterable[AclBinding]) -> str | None:
    """Why one of them would never count, as `kafka-acls` says it before it asks; None: all may.

    Source: Kafka's `AclEntry.supportedOperations`.
    """
    for acl in acls:
        supported = SUPPORTED[acl.resource_type]
        if acl.operation not in (Operation.ALL, *supported):
            names = ", ".join(sorted(map(shown, supported)))
            return f"{shown(acl.operation)} means nothing for a {acl.resource_type.name}; there are All, {names}"
    return None


def shown(operation: Operation) -> str:
    """As `--operation` takes it: DescribeConfigs."""
    return "".join(map(str.capitalize, operation.name.split("_")))


def filters_of_resources(resources: Resources, principals: tuple[str, ...] = ()) -> list[AclFilter]:
    """Filters for all ACLs of the resources, of these principals or of everyone; without resources, of all."""
    of_resources: list[AclFilter] = [AclFilter(*each) for each in resources.patterns()] or [AclFilter()]
    return [each._replace(principal=name) for each in of_resources for name in principals or (None,)]


def filters_of_rights(resources: Resources, rights: Rights) -> list[AclFilter]:
    """Filters for these rights alone, word for word: the operation ALL means ACLs of ALL, the host `*` those of `*`."""
    return [AclFilter(*each) for each in bindings(resources, rights)]


def to_create(acls: Iterable[AclBinding]) -> CreateAclsRequest:
    """Asks for all of them."""
    return CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=acl.resource_type,
                resource_name=acl.name,
                resource_pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            for acl in acls
        )
    )


def to_describe(wanted: AclFilter) -> DescribeAclsRequest:
    """Asks for the ACLs that one filter means."""
    return DescribeAclsRequest(**_fields(wanted))


def to_delete(filters: Iterable[AclFilter]) -> DeleteAclsRequest:
    """Asks for all that any of the filters means to be deleted."""
    return DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**_fields(each)) for each in filters))


def _fields(wanted: AclFilter) -> dict[str, Any]:
    """A filter, as both requests say it."""
    return {
        "resource_type_filter": wanted.resource_type,
        "resource_name_filter": wanted.name,
        "pattern_type_filter": wanted.pattern_type,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }


def described(answer: DescribeAclsResponse) -> Iterator[AclBinding]:
    """The ACLs of an answer. A code that is newer than this client reads UNKNOWN."""
    for resource in answer.resources:
        for acl in resource.acls:
            yield _binding(resource, acl)


def deleted(acl: DeleteAclsMatchingAcl) -> AclBinding:
    """The ACL that a filter has found."""
    return _binding(acl, acl)


def _binding(
    resource: DescribeAclsResource | DeleteAclsMatchingAcl, acl: AclDescription | DeleteAclsMatchingAcl
) -> AclBinding:
    return AclBinding(
        known(ResourceType, resource.resource_type),
        known(PatternType, resource.pattern_type),
        resource.resource_name,
        acl.principal,
        acl.host,
        known(Operation, acl.operation),
        known(Permission, acl.permission_type),
    )


def refusal(code: ErrorCode, message: str | None) -> str:
    """A sentence for an error of the broker's: Kafka's name, and what to do or what the broker says."""
    return f"{code.name.upper()}: {MEANING.get(code) or message or 'the broker says no more'}"
