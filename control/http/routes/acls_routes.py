"""ACLs: grants and denials without a Kafka client, in a cluster with an authorizer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from kohort.control.control_errors import unknown
from kohort.control.http.body import Body
from kohort.control.http.documenting import one_of
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.lab_acls import AclOptions
from kohort.security.acls import WILDCARD, AclBinding, PatternType, Permission, ResourceType

router = APIRouter(prefix="/acls", tags=["acls"])

PERMISSIONS = {"allow": Permission.ALLOW, "deny": Permission.DENY}
PERMISSION = one_of(PERMISSIONS)
RESOURCE_TYPE = one_of(kind.name.lower() for kind in ResourceType if kind > ResourceType.ANY)


class NewAcl(Body):
    """A principal and what it may or may not do, with one topic, group or transactional id, or with the cluster."""

    permission: str = Field("allow", json_schema_extra=PERMISSION)
    principal: str = Field(description="User:* is any principal", examples=["User:alice"])
    operation: str = Field("All", description="Kafka's name", examples=["Read"])
    topic: str | None = Field(None, description="* is any topic")
    group: str | None = None
    transactional_id: str | None = None
    cluster: bool = False
    host: str = Field(WILDCARD, description="an address as text; * is any")
    prefixed: bool = Field(False, description="whether the name is a prefix")


class AclState(BaseModel):
    """An effective ACL."""

    permission: str = Field(json_schema_extra=PERMISSION)
    principal: str
    operation: str = Field(description="Kafka's name, as in DESCRIBE_CONFIGS")
    resource_type: str = Field(json_schema_extra=RESOURCE_TYPE)
    resource_name: str
    prefixed: bool
    host: str
    text: str = Field(description="the ACL in words")


@router.get("")
async def list_acls(laboratory: TheLaboratory) -> list[AclState]:
    """List all ACLs, including those of clients."""
    return [_state(acl.binding) for acl in laboratory.acls]


@router.post("", status_code=201)
async def add(acl: NewAcl, laboratory: TheLaboratory) -> AclState:
    """Add an ACL. It is effective from the next request on, until it is removed or everything is reset."""
    make = laboratory.acls.allow if _permission(acl.permission) == Permission.ALLOW else laboratory.acls.deny
    options = _options(acl.topic, acl.group, acl.transactional_id, cluster=acl.cluster, host=acl.host)
    options["prefixed"] = acl.prefixed
    return _state(make(acl.principal, acl.operation, **options).binding)


@router.delete("")
async def remove(
    laboratory: TheLaboratory,
    permission: Annotated[str | None, Query(json_schema_extra=PERMISSION)] = None,
    principal: str | None = None,
    operation: str | None = None,
    topic: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
    cluster: Annotated[bool, Query(description="ACLs of the cluster")] = False,
    host: str | None = None,
    prefixed: bool | None = None,
) -> list[AclState]:
    """Remove all matching ACLs, including those of clients; a parameter that is left out matches anything."""
    options = _options(topic, group, transactional_id, cluster=cluster, host=host)
    if prefixed is not None:
        options["prefixed"] = prefixed
    permission_filter = Permission.ANY if permission is None else _permission(permission)
    return [_state(binding) for binding in laboratory.acls.remove(principal, operation, permission_filter, **options)]


def _permission(word: str) -> Permission:
    if word not in PERMISSIONS:
        raise unknown("permission", word, PERMISSIONS)
    return PERMISSIONS[word]


def _options(
    topic: str | None, group: str | None, transactional_id: str | None, *, cluster: bool, host: str | None
) -> AclOptions:
    options: AclOptions = {"cluster": cluster}
    if topic is not None:
        options["topic"] = topic
    if group is not None:
        options["group"] = group
    if transactional_id is not None:
        options["transactional_id"] = transactional_id
    if host is not None:
        options["host"] = host
    return options


def _state(acl: AclBinding) -> AclState:
    return AclState(
        permission=acl.permission.name.lower(),
        principal=acl.principal,
        operation=acl.operation.name,
        resource_type=acl.resource_type.name.lower(),
        resource_name=acl.name,
        prefixed=acl.pattern_type == PatternType.PREFIXED,
        host=acl.host,
        text=str(acl),
    )
