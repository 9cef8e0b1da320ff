"""Which ACLs `kohort admin acls` means by its options, and what it asks a broker for them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kohort.cli.admin.acls.named_acls import (
    Resources,
    Rights,
    bindings,
    deleted,
    described,
    filters_of_resources,
    filters_of_rights,
    pointless,
    refusal,
    to_create,
    to_delete,
    to_describe,
)
from kohort.cli.commands import main
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.messages.delete_acls import DeleteAclsMatchingAcl
from kohort.protocol.messages.describe_acls import AclDescription, DescribeAclsResource, DescribeAclsResponse
from kohort.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType

NOBODY = "127.0.0.1:1"
"""Where nobody listens: what is wrong with a command line is said before anybody is asked."""
ALICE_READS = (
    *("--topic", "orders", "--group", "billing", "--allow-principal", "User:alice"),
    *("--operation", "Read", "--operation", "Describe", "--allow-host", "10.0.0.1"),
)


def texts(resources: Resources, rights: Rights) -> list[str]:
    return [str(each) for each in bindings(resources, rights)]


def test_every_right_is_given_for_every_resource() -> None:
    rights = Rights(("User:alice",), (), (Operation.READ, Operation.DESCRIBE), ("10.0.0.1",))
    assert texts(Resources(("orders",), ("billing",)), rights) == [
        "User:alice from 10.0.0.1: ALLOW READ on TOPIC:LITERAL:orders",
        "User:alice from 10.0.0.1: ALLOW DESCRIBE on TOPIC:LITERAL:orders",
        "User:alice from 10.0.0.1: ALLOW READ on GROUP:LITERAL:billing",
        "User:alice from 10.0.0.1: ALLOW DESCRIBE on GROUP:LITERAL:billing",
    ]


def test_hosts_go_with_their_own_principals_and_all_operations_from_anywhere_are_the_default() -> None:
    rights = Rights(("User:alice",), ("User:bob",), denied_hosts=("::1",))
    assert texts(Resources(transactional_ids=("bills-",), pattern=PatternType.PREFIXED), rights) == [
        "User:alice from *: ALLOW ALL on TRANSACTIONAL_ID:PREFIXED:bills-",
        "User:bob from ::1: DENY ALL on TRANSACTIONAL_ID:PREFIXED:bills-",
    ]


def test_the_cluster_has_one_name_and_no_prefix() -> None:
    resources = Resources(("a",), cluster=True, pattern=PatternType.PREFIXED)
    assert texts(resources, Rights(("User:alice",), (), (Operation.ALTER,))) == [
        "User:alice from *: ALLOW ALTER on TOPIC:PREFIXED:a",
        "User:alice from *: ALLOW ALTER on CLUSTER:LITERAL:kafka-cluster",
    ]


def test_filters_without_resources_mean_all_and_without_principals_everyones() -> None:
    assert filters_of_resources(Resources()) == [AclFilter()]
    assert filters_of_resources(Resources(), ("User:alice", "User:bob")) == [
        AclFilter(principal="User:alice"),
        AclFilter(principal="User:bob"),
    ]
    assert filters_of_resources(Resources(("orders",), pattern=PatternType.MATCH)) == [
        AclFilter(ResourceType.TOPIC, PatternType.MATCH, "orders")
    ]


def test_filters_of_rights_are_word_for_word() -> None:
    (found,) = filters_of_rights(Resources(("orders",), pattern=PatternType.ANY), Rights((), ("User:bob",)))
    expected = ("orders", "User:bob", "*", Operation.ALL, Permission.DENY)
    assert found == AclFilter(ResourceType.TOPIC, PatternType.ANY, *expected)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_broker_reads_what_was_meant(version: int) -> None:
    acls = bindings(Resources(("orders",), pattern=PatternType.PREFIXED), Rights(("User:alice",), ("User:bob",)))
    created = to_create(acls)
    assert [
        (each.resource_type, each.resource_pattern_type, each.resource_name, each.principal, each.host, each.operation)
        for each in created.creations
    ] == [acl[:6] for acl in acls]
    assert [each.permission_type for each in created.creations] == [acl.permission for acl in acls]
    assert to_delete([AclFilter(*acls[1])]).filters[0].permission_type == Permission.DENY
    for name, request in (
        ("create_acls", created),
        ("describe_acls", to_describe(AclFilter())),
        ("delete_acls", to_delete([AclFilter(*acls[0]), AclFilter()])),
    ):
        assert message_of(name).write_request(version, 1, "a", request)


def test_answers_are_read_those_with_newer_codes_too() -> None:
    one = AclDescription(principal="User:alice", host="*", operation=Operation.READ, permission_type=Permission.ALLOW)
    newer = AclDescription(principal="User:bob", host="*", operation=99, permission_type=Permission.DENY)
    resource = DescribeAclsResource(resource_type=ResourceType.TOPIC, resource_name="orders", acls=(one, newer))
    answer = DescribeAclsResponse(error_code=ErrorCode.none, resources=(resource,))
    assert [str(each) for each in described(answer)] == [
        "User:alice from *: ALLOW READ on TOPIC:LITERAL:orders",
        "User:bob from *: DENY UNKNOWN on TOPIC:LITERAL:orders",
    ]
    gone = DeleteAclsMatchingAcl(
        error_code=ErrorCode.none,
        resource_type=99,
        resource_name="it",
        principal="User:bob",
        host="*",
        operation=Operation.ALL,
        permission_type=Permission.DENY,
    )
    assert str(deleted(gone)) == "User:bob from *: DENY ALL on UNKNOWN:LITERAL:it"


def test_refusals_say_what_to_do() -> None:
    assert refusal(ErrorCode.security_disabled, "No Authorizer is configured.") == (
        "SECURITY_DISABLED: the brokers keep no ACLs; start them with the setting authorizer.class.name"
    )
    assert refusal(ErrorCode.invalid_request, "Invalid empty resource name") == (
        "INVALID_REQUEST: Invalid empty resource name"
    )
    assert refusal(ErrorCode.policy_violation, None) == "POLICY_VIOLATION: the broker says no more"


def test_operations_that_a_resource_does_not_know_are_refused() -> None:
    rights = Rights(("User:alice",), (), (Operation.WRITE,))
    assert pointless(bindings(Resources(("orders",), transactional_ids=("t",)), rights)) is None
    assert pointless(bindings(Resources(cluster=True), Rights(("User:alice",)))) is None
    assert pointless(bindings(Resources(groups=("g",)), rights)) == (
        "Write means nothing for a GROUP; there are All, AlterConfigs, Delete, Describe, DescribeConfigs, Read"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "--topic", "orders"], "say for whom: --allow-principal or --deny-principal"),
        (["add", "--allow-principal", "User:alice"], "name a resource: --topic, --group, --transactional-id"),
        (["add", "--topic", "", "--allow-principal", "User:alice"], "a resource has a name"),
        (["add", "--topic", "a", "--allow-principal", "alice"], "a principal is a type and a name, as User:alice"),
        (["add", "--topic", "a", "--allow-principal", "User:a", "--operation", "Raed"], "did you mean Read?"),
        (["add", "--group", "a", "--allow-principal", "User:a", "--operation", "Write"], "Write means nothing for a"),
        (["add", "--topic", "a", "--resource-pattern-type", "match"], "'match' is not one of 'literal', 'prefixed'"),
        (
            ["add", "--topic", "a", "--deny-principal", "User:a", "--allow-host", "::1"],
            "--allow-host goes with --allow-principal",
        ),
        (["remove", "--force"], "name a resource"),
        (["remove", "--topic", "a", "--operation", "Read"], "--operation goes with --allow-principal or"),
        (["list", "--principal", "alice"], "a principal is a type and a name"),
    ],
)
def test_command_lines_that_mean_nothing_are_refused(words: list[str], sentence: str) -> None:
    refused = CliRunner().invoke(main, ["admin", "acls", *words, "--bootstrap", NOBODY])
    assert refused.exit_code == 2, refused.output
    assert sentence in refused.stderr


@pytest.mark.parametrize("words", [["list"], ["add", *ALICE_READS], ["remove", *ALICE_READS]])
def test_where_nobody_answers_it_is_said(words: list[str]) -> None:
    refused = CliRunner().invoke(main, ["admin", "acls", *words, "--bootstrap", NOBODY])
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"kohort: {NOBODY}: ")
