"""Every row of `security/needs.py`: a client without the right is rejected, one with it gets its response."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from kohort.broker.cluster.access import MOST_REMEMBERED
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kohort.protocol.releases import CURRENT, apis_of
from kohort.security.acls import CLUSTER_NAME, AclBinding, PatternType, Permission, ResourceType
from kohort.security.needs import FOR_EVERYBODY, NEEDS, Need
from kohort.security.rights import Right
from tests.broker.rights_cases import CASES, Case, World
from tests.broker.share_rights_cases import SHARE_GROUP_CASES, SHARE_STATE_CASES, share_groups_there
from tests.broker.streams_rights_cases import STREAMS_CASES, streams_groups_there
from tests.support.broker import Broker, Client
from tests.support.frames import frame
from tests.support.rights import access_of, allow, client_of, guarded_broker
from tests.support.shapes import errors_in, shape

ALL_CASES = (*CASES, *SHARE_STATE_CASES, *SHARE_GROUP_CASES, *STREAMS_CASES)
ROWS = [
    pytest.param(need, case, id=f"{need.api}-{need.rights[0]}-{need.condition}")
    for need, case in zip(NEEDS, ALL_CASES, strict=True)
]

USUAL = {
    ResourceType.TOPIC: "t",
    ResourceType.GROUP: "g",
    ResourceType.TRANSACTIONAL_ID: "x",
}


def test_every_need_has_a_case() -> None:
    assert {need.api for need in NEEDS} | FOR_EVERYBODY == {api.name for api in apis_of(CURRENT)}
    assert [(need.api, need.condition) for need in NEEDS] == [(case.api, case.when) for case in ALL_CASES]
    assert not {need.api for need in NEEDS} & FOR_EVERYBODY


def asks(client: Client, case: Case, request: dict[str, Any]) -> Any:
    made = shape(message_of(case.api).request, request)
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    client.says(frame(case.api, case.version, 1, **values))
    response = client.hears(case.api, case.version)
    assert len(response) == 1, "it is answered at once"
    return response[0][1]


def world(broker: Broker, client: Client) -> World:
    """Create a topic, groups of all types, and a transactional id that has added a partition."""
    cluster = broker.cluster
    cluster.offsets_topic.create(0)
    cluster.transaction_topic.create(0)
    cluster.topics.create("t", 1, 1)
    topic = cluster.topics.by_name("t")
    assert topic is not None
    cluster.group_configs.configure("g", {"consumer.session.timeout.ms": "50000"})
    producer = client.asks("init_producer_id", 4, transactional_id="x", transaction_timeout_ms=60_000)
    made = World(topic.topic_id, producer.producer_id, producer.producer_epoch)
    for case in CASES:
        if case.api in ("offset_commit", "add_partitions_to_txn"):
            response = asks(client, case, case.request(made) if callable(case.request) else case.request)
            assert set(errors_in(response)) <= {ErrorCode.none}
    joining = next(case for case in CASES if case.api == "consumer_group_heartbeat")
    assert isinstance(joining.request, dict)
    asks(client, joining, {**joining.request, "member_id": "admin"})
    for case in (*share_groups_there(), *streams_groups_there()):
        request = case.request(made) if callable(case.request) else case.request
        assert set(errors_in(asks(client, case, request))) <= {ErrorCode.none}
    return made


def heard(broker: Broker, client: Client, case: Case, made: World) -> Any:
    response = asks(client, case, case.request(made) if callable(case.request) else case.request)
    if case.again is not None:
        broker.loop.wait(10)
        response = asks(client, case, case.again(response))
    return response


def with_rights(case: Case, *more: tuple[Right, str]) -> Any:
    """Return alice's response on a broker that grants her the rights of the other rows, and `more`."""
    broker = guarded_broker(**SETTINGS)
    made = world(broker, client_of(broker, "admin"))
    allow(broker, *(f"User:alice {each}" for each in case.also))
    access_of(broker).add(
        AclBinding(right.resource_type, PatternType.LITERAL, name, "User:alice", "*", right.operation, Permission.ALLOW)
        for right, name in more
    )
    return heard(broker, client_of(broker, "alice"), case, made)


SETTINGS: dict[str, Any] = {
    "group_initial_rebalance_delay_ms": 0,
    "group_share_assignment_interval_ms": 0,
    "group_streams_initial_rebalance_delay_ms": 0,
    "group_streams_assignment_interval_ms": 0,
}


def of_a_super_user(case: Case) -> Any:
    broker = guarded_broker(**SETTINGS)
    admin = client_of(broker, "admin")
    return heard(broker, admin, case, world(broker, admin))


def without_an_authorizer(case: Case) -> Any:
    broker = Broker(**SETTINGS)
    client = broker.client()
    return heard(broker, client, case, world(broker, client))


DIFFERENT = {"describe_acls", "create_acls", "delete_acls", "describe_configs"}
"""What super users are answered otherwise than clients of a broker without an authorizer: that there is one."""


@pytest.mark.parametrize(("need", "case"), ROWS)
def test_super_user_needs_no_right(need: Need, case: Case) -> None:
    if case.api not in DIFFERENT:
        assert of_a_super_user(case) == without_an_authorizer(case)


def name_for(right: Right, case: Case, need: Need) -> str:
    if right.resource_type is ResourceType.CLUSTER:
        return CLUSTER_NAME
    return "*" if need.refused is None else case.on or USUAL[right.resource_type]


def comparable(message: Any) -> Any:
    """Remove the authorized operations from a response, since they must differ."""
    if isinstance(message, tuple | list):
        return [comparable(each) for each in message]
    if is_dataclass(message):
        return {
            field.name: comparable(getattr(message, field.name))
            for field in fields(message)
            if not field.name.endswith("authorized_operations")
        }
    return message


@pytest.mark.parametrize(("need", "case"), [row for row in ROWS if row.values[0].refused is not None])  # type: ignore[union-attr]
def test_right_decides_the_response(need: Need, case: Case) -> None:
    refusal = with_rights(case)
    assert need.refused in set(errors_in(refusal))
    before = of_a_super_user(case)
    assert need.refused not in set(errors_in(before))
    for right in need.rights:
        assert comparable(with_rights(case, (right, name_for(right, case, need)))) == comparable(before)


@pytest.mark.parametrize(("need", "case"), [row for row in ROWS if row.values[0].refused is None])  # type: ignore[union-attr]
def test_invisible_resources_are_omitted(need: Need, case: Case) -> None:
    assert case.sees is not None
    assert case.sees(with_rights(case)) in ([], [None], 0, None, ())
    records = case.sees(of_a_super_user(case))
    assert records
    for right in need.rights:
        now = case.sees(with_rights(case, (right, name_for(right, case, need))))
        assert now == records if need.api != "describe_cluster" else now


def test_denied_topic_counts_each_partition() -> None:
    # Kafka 4.3.0 does so; with the right, a duplicate partition is one invalid request
    broker = guarded_broker()
    broker.cluster.topics.create("t", 1, 1)
    twice = ListOffsetsTopic(name="t", partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),) * 2)
    fields: dict[str, Any] = {"replica_id": -1, "isolation_level": 0, "topics": (twice,)}
    answered = {
        user: [
            partition.error_code
            for partition in client_of(broker, user).asks("list_offsets", 6, **fields).topics[0].partitions
        ]
        for user in ("alice", "admin")
    }
    refused = ErrorCode.topic_authorization_failed
    assert answered == {"alice": [refused, refused], "admin": [ErrorCode.invalid_request]}


def test_denials_are_recorded_within_bounds() -> None:
    broker = guarded_broker()
    alice = client_of(broker, "alice")
    for number in range(MOST_REMEMBERED + 5):
        alice.asks("heartbeat", 4, group_id=f"g{number}", generation_id=1, member_id="m")
    alice.asks("heartbeat", 4, group_id="g" * 1_000, generation_id=1, member_id="m")
    denials = access_of(broker).denials
    assert len(denials) == MOST_REMEMBERED
    assert denials[-1].name == f"g{MOST_REMEMBERED + 4}"
