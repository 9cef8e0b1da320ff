"""DescribeAcls, CreateAcls, DeleteAcls: who may, what is refused, what stays after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_acls import AclCreation
from kohort.protocol.messages.delete_acls import DeleteAclsFilter
from kohort.security.acls import AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.ownership import DataDirectoryError
from tests.security.acls_as_text import acl
from tests.support.broker import Broker, Client
from tests.support.frames import frame
from tests.support.rights import access_of, allow, client_of, guarded_broker

MAY_READ = "allow User:alice Read topic t"
EVERYTHING = (1, None, 1, None, None, 1, 1)
"""A filter that means all ACLs."""


def creation(text: str, **changes: Any) -> AclCreation:
    each = acl(text)
    said: dict[str, Any] = {
        "resource_type": each.resource_type,
        "resource_name": each.name,
        "resource_pattern_type": each.pattern_type,
        "principal": each.principal,
        "host": each.host,
        "operation": each.operation,
        "permission_type": each.permission,
    }
    return AclCreation(**{**said, **changes})


def creates(client: Client, *creations: AclCreation, version: int = 3) -> list[tuple[ErrorCode, str | None]]:
    response = client.asks("create_acls", version, creations=creations)
    return [(result.error_code, result.error_message) for result in response.results]


def fields(*wanted: Any) -> dict[str, Any]:
    names = ["resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter"]
    return dict(zip([*names, "operation", "permission_type"], wanted, strict=True))


def describes(client: Client, *wanted: Any, version: int = 3) -> set[AclBinding]:
    response = client.asks("describe_acls", version, **fields(*(wanted or EVERYTHING)))
    assert (response.error_code, response.error_message) == (ErrorCode.none, "")
    return {
        AclBinding(
            ResourceType(resource.resource_type),
            PatternType(resource.pattern_type),
            resource.resource_name,
            entry.principal,
            entry.host,
            Operation(entry.operation),
            Permission(entry.permission_type),
        )
        for resource in response.resources
        for entry in resource.acls
    }


def deletes(
    client: Client, *filters: tuple[Any, ...], version: int = 3
) -> list[tuple[ErrorCode, str | None, set[str]]]:
    response = client.asks(
        "delete_acls", version, filters=[DeleteAclsFilter(**fields(*acl_filter)) for acl_filter in filters]
    )
    return [
        (
            filter_result.error_code,
            filter_result.error_message,
            {entry.resource_name for entry in filter_result.matching_acls},
        )
        for filter_result in response.filter_results
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_create_find_and_delete_acl(version: int) -> None:
    broker = guarded_broker()
    admin = client_of(broker, "admin")
    wanted = [creation(MAY_READ), creation("deny User:* All prefixed group g from 10.0.0.1"), creation(MAY_READ)]
    assert creates(admin, *wanted, version=version) == [(ErrorCode.none, "")] * 3
    assert creates(admin, wanted[0], version=version) == [(ErrorCode.none, "")]
    both = {acl(MAY_READ), acl("deny User:* All prefixed group g from 10.0.0.1")}
    assert describes(admin, version=version) == both
    found = deletes(admin, (2, "t", 3, None, None, 1, 1), EVERYTHING, (2, "u", 3, None, None, 1, 1), version=version)
    assert found == [(ErrorCode.none, None, {"t"}), (ErrorCode.none, None, {"t", "g"}), (ErrorCode.none, None, set())]
    assert describes(admin, version=version) == set()


def test_describe_and_alter_rights() -> None:
    broker = guarded_broker()
    alice = client_of(broker, "alice")
    refused = alice.asks("describe_acls", 3, **fields(*EVERYTHING))
    assert refused.error_code is ErrorCode.cluster_authorization_failed
    assert refused.error_message.endswith("needs DESCRIBE permission.")
    ((code, message),) = creates(alice, creation(MAY_READ))
    assert code is ErrorCode.cluster_authorization_failed
    assert str(message).endswith("needs ALTER permission.")
    ((code, message, found),) = deletes(alice, EVERYTHING)
    assert (code, found) == (ErrorCode.cluster_authorization_failed, set())
    assert str(message).endswith("needs ALTER permission.")
    assert not len(access_of(broker).authorizer.acls)
    allow(broker, "User:alice Alter cluster kafka-cluster")
    assert creates(alice, creation(MAY_READ)) == [(ErrorCode.none, "")]
    assert len(describes(alice)) == 2
    assert deletes(alice, (2, None, 1, None, None, 1, 1)) == [(ErrorCode.none, None, {"t"})]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        (
            {"principal": "alice"},
            "Could not parse principal from `alice` (no colon is present separating the principal type from the "
            "principal name)",
        ),
    ],
)
def test_invalid_acl_is_rejected_individually(changes: dict[str, Any], message: str) -> None:
    broker = guarded_broker()
    admin = client_of(broker, "admin")
    assert creates(admin, creation(MAY_READ, **changes), creation(MAY_READ)) == [
        (ErrorCode.invalid_request, message),
        (ErrorCode.none, ""),
    ]
    assert describes(admin) == {acl(MAY_READ)}


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type": 1},
        {"resource_pattern_type": 1},
        {"resource_pattern_type": 2},
        {"operation": 1},
        {"permission_type": 1},
    ],
)
def test_filter_values_reject_creation(changes: dict[str, Any]) -> None:
    broker = guarded_broker()
    admin = client_of(broker, "admin")
    failed = (ErrorCode.unknown_server_error, None)
    assert creates(admin, creation(MAY_READ), creation(MAY_READ, **changes)) == [failed, failed]
    assert describes(admin) == set()


@pytest.mark.parametrize("field", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
@pytest.mark.parametrize("code", [0, 99, -1])
def test_invalid_code_closes_connection(field: str, code: int) -> None:
    admin = client_of(guarded_broker(), "admin")
    admin.says(frame("create_acls", 3, 1, creations=[creation(MAY_READ, **{field: code})]))
    assert admin.closed


def test_unsupported_operation_is_kept() -> None:
    broker = guarded_broker()
    admin = client_of(broker, "admin")
    odd = [creation("allow Team:x Write group g from nowhere"), creation(MAY_READ, resource_type=7, operation=13)]
    assert creates(admin, *odd) == [(ErrorCode.none, "")] * 2
    assert len(describes(admin)) == 2


def test_unknown_filter_codes() -> None:
    broker = guarded_broker()
    allow(broker, "User:alice Read topic t")
    admin = client_of(broker, "admin")
    assert describes(admin, 99, None, 1, None, None, 1, 1) == set()
    assert deletes(admin, (99, None, 1, None, None, 1, 1), (2, None, 1, None, None, 77, 1), EVERYTHING) == [
        (ErrorCode.invalid_request, "Unknown patternFilter.", set()),
        (ErrorCode.invalid_request, "Unknown entryFilter.", set()),
        (ErrorCode.none, None, {"t"}),
    ]


def test_nothing_asked_is_nothing_answered() -> None:
    admin = client_of(guarded_broker(), "admin")
    assert creates(admin) == []
    assert deletes(admin) == []


def test_without_an_authorizer_security_is_disabled() -> None:
    ada = Broker().client()
    described = ada.asks("describe_acls", 3, **fields(*EVERYTHING))
    assert (described.error_code, described.error_message) == (
        ErrorCode.security_disabled,
        "No Authorizer is configured on the broker",
    )
    none = (ErrorCode.security_disabled, "No Authorizer is configured.")
    assert creates(ada, creation(MAY_READ), creation(MAY_READ)) == [none, none]
    assert deletes(ada, EVERYTHING) == [(*none, set())]


def test_too_many_at_once_are_refused() -> None:
    broker = guarded_broker()
    admin = client_of(broker, "admin")
    many = [creation(MAY_READ, resource_name=f"t{number}") for number in range(10_001)]
    refused = set(creates(admin, *many))
    assert refused == {(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")}
    access_of(broker).add(acl(f"allow User:alice Read topic t{number}") for number in range(10_001))
    assert deletes(admin, EVERYTHING, (2, "t7", 3, None, None, 1, 1)) == [
        (ErrorCode.unknown_server_error, None, set()),
        (ErrorCode.none, None, {"t7"}),
    ]


# On disk

GUARDED: dict[str, Any] = {"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:admin"}


def restarted(directory: DataDirectory, **settings: Any) -> Broker:
    """Start a broker on the directory of a killed one."""
    directory.abandon()
    return Broker(directory=DataDirectory(directory.path), **settings)


def test_acls_survive_kill(tmp_path: Path) -> None:
    first = Broker(directory=DataDirectory(tmp_path / "data"), **GUARDED)
    admin = client_of(first, "admin")
    odd = 'deny User:"ä\\n All prefixed group {g} from 10.0.0.1'
    creates(admin, creation(MAY_READ), creation(odd), creation(MAY_READ, resource_name="gone"))
    deletes(admin, (2, "gone", 3, None, None, 1, 1))
    assert first.cluster.directory is not None
    second = restarted(first.cluster.directory, **GUARDED)
    assert list(access_of(second).authorizer.acls) == [acl(MAY_READ), acl(odd)]
    assert second.cluster.directory is not None
    without = restarted(second.cluster.directory)
    assert without.cluster.access is None
    assert without.cluster.directory is not None
    new_broker = restarted(without.cluster.directory, **GUARDED)
    assert list(access_of(new_broker).authorizer.acls) == [acl(MAY_READ), acl(odd)]


def test_unknown_stored_acl_is_reported(tmp_path: Path) -> None:
    first = Broker(directory=DataDirectory(tmp_path / "data"), **GUARDED)
    creates(client_of(first, "admin"), creation(MAY_READ))
    journal = tmp_path / "data" / "topics.jsonl"
    first.cluster.directory.abandon()  # type: ignore[union-attr]
    journal.write_text(journal.read_text().replace('"READ"', '"REED"'))
    with pytest.raises(DataDirectoryError, match=r"the ACL TOPIC LITERAL t User:alice \* REED ALLOW .*'REED'"):
        Broker(directory=DataDirectory(tmp_path / "data"), **GUARDED)
