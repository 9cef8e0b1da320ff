"""ACLs: rights given and taken away without a Kafka client, in a cluster with an authorizer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from kohort.control.body import Body
from kohort.control.control_errors import unknown
from kohort.control.documenting import one_of
from kohort.control.endpoint_context import TheLaboratory
from kohort.control.lab_acls import AclOptions
from kohort.security.acls import WILDCARD, AclBinding, PatternType, Permission, ResourceType

router = APIRouter(prefix="/acls", tags=["acls"])

PERMISSIONS = {"allow": Permission.ALLOW, "deny": Permission.DENY}
PERMISSION = one_of(PERMISSIONS)
RESOURCE_TYPE = one_of(each.name.lower() for each in ResourceType if each > ResourceType.ANY)


class NewAcl(Body):
    """Who may do, or may not do, what: about one topic, group or transactional id, or the cluster."""

    permission: str = Field("allow", json_schema_extra=PERMISSION)
    principal: str = Field(description="User:* is everybody", examples=["User:alice"])
    operation: str = Field("All", description="as Kafka calls it", examples=["Read"])
    topic: str | None = Field(None, description="* is every one")
    group: str | None = None
    transactional_id: str | None = None
    cluster: bool = False
    host: str = Field(WILDCARD, description="an address as text; * is any")
    prefixed: bool = Field(False, description="whether it is about all whose name begins so")


class AclState(BaseModel):
    """An ACL that counts."""

    permission: str = Field(json_schema_extra=PERMISSION)
    principal: str
    operation: str = Field(description="as Kafka calls it, DESCRIBE_CONFIGS")
    resource_type: str = Field(json_schema_extra=RESOURCE_TYPE)
    resource_name: str
    prefixed: bool
    host: str
    text: str = Field(description="all of it in words")


@router.get("")
async def list_acls(laboratory: TheLaboratory) -> list[AclState]:
    """All ACLs, those that clients have made too."""
    return [_state(each.binding) for each in laboratory.acls]


@router.post("", status_code=201)
async def add(acl: NewAcl, laboratory: TheLaboratory) -> AclState:
    """Make an ACL. It counts for the next request, until it is removed or everything is reset."""
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
    cluster: Annotated[bool, Query(description="those about the cluster")] = False,
    host: str | None = None,
    prefixed: bool | None = None,
) -> list[AclState]:
    """Remove all ACLs that are so, those that clients have made too; what is left out may be anything."""
    options = _options(topic, group, transactional_id, cluster=cluster, host=host)
    if prefixed is not None:
        options["prefixed"] = prefixed
    wanted = Permission.ANY if permission is None else _permission(permission)
    return [_state(each) for each in laboratory.acls.remove(principal, operation, wanted, **options)]


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
