"""The short way of repeated requests is equal to the long one, and what is remembered is little."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.broker.cluster.node import Node
from kohort.broker.fast.cached_request import PATIENCE, CachedRequest
from kohort.broker.fast.remembered_requests import SKIPPED, RememberedRequests
from kohort.broker.fast.request_patterns import LONGEST_BYTES, NUMBERS_AT, OFFSET_BYTES, Pattern
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.protocol.headers import read_header
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, TaskOffset, Topology
from kohort.protocol.messages.sync_group import SyncGroupRequestAssignment
from kohort.whatif.clients.group_member import to_commit
from tests.broker.fast.consumer_world import ConsumerWorld
from tests.broker.fast.repeated_world import RIGHTS, World
from tests.broker.fast.streams_world import StreamsWorld
from tests.broker.transactional_producer import GROUP, TOPIC, Producer
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic
from tests.support.effort import EFFORT
from tests.support.frames import frame, to_fetch
from tests.support.rights import allow, client_of, guarded_broker, take_back
from tests.support.seeds import is_known, seeds

STEPS = EFFORT.steps * 3 // 5


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("guarded", [False, True], ids=["open", "guarded"])
def test_repeated_request_equals_decoded_one(seed: int, guarded: bool) -> None:
    world = World(seed, guarded=guarded)
    world.plays(STEPS)
    quick, slow = map(world.logs, world.brokers)
    assert quick == slow, f"KOHORT_SEED={seed}"
    assert any(quick)
    if is_known(seed):  # or else this test shows nothing
        assert min(world.repeated[name] for name in ("offset_commit", "join_group", "sync_group")) > 30
        assert guarded or world.repeated["offset_fetch"] > 5


@pytest.mark.parametrize(
    ("create_world", "api"),
    [(ConsumerWorld, "consumer_group_heartbeat"), (StreamsWorld, "streams_group_heartbeat")],
    ids=["consumer", "streams"],
)
@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("guarded", [False, True], ids=["open", "guarded"])
def test_epoch_heartbeats_equal_decoded_ones(
    seed: int, guarded: bool, create_world: type[ConsumerWorld], api: str
) -> None:
    world = create_world(seed, guarded=guarded)
    world.plays(STEPS)
    quick, slow = map(world.logs, world.brokers)
    assert quick == slow, f"KOHORT_SEED={seed}"
    assert any(quick)
    if is_known(seed):
        assert world.repeated[api] > 50


# What is remembered, and for how long


def commit(offset: int, partitions: int = 1, member_id: str = "", group_id: str = "simple") -> bytes:
    topics = to_commit("t", dict.fromkeys(range(partitions), offset))
    return frame("offset_commit", 9, offset, group_id=group_id, member_id=member_id, topics=topics)


def errors(client: Client) -> list[ErrorCode]:
    return [p.error_code for _, answer in client.hears("offset_commit", 9) for t in answer.topics for p in t.partitions]


def known(client: Client) -> RememberedRequests:
    shortcuts = client.connection.shortcuts
    return shortcuts if isinstance(shortcuts, RememberedRequests) else RememberedRequests()


def remembered(client: Client) -> list[CachedRequest]:
    return [request for request in known(client).requests.values() if request.request is not None]


def test_revoked_right_applies_immediately() -> None:
    broker = guarded_broker()
    given_topic(client_of(broker, "admin"), "t")
    broker.cluster.offsets_topic.create(0)
    ada = client_of(broker, "ada")
    allow(broker, *RIGHTS)
    for right, error in ((RIGHTS[0], "group_authorization_failed"), (RIGHTS[2], "topic_authorization_failed")):
        for offset in range(5):
            ada.says(commit(offset))
        assert errors(ada) == [ErrorCode.none] * 5
        assert [request.kept is not None for request in remembered(ada)] == [True]
        take_back(broker, right)
        ada.says(commit(5))
        assert errors(ada) == [ErrorCode[error]]
        allow(broker, right)


def test_failing_repeated_request_returns_error() -> None:
    broker = Broker()
    ada = broker.client()
    beat = frame("heartbeat", 4, 7, group_id="g", generation_id=1, member_id="m")
    ada.says(beat, beat)
    assert len(remembered(ada)) == 1

    def fails(node: Node, cached: CachedRequest, now_ms: int) -> bytes:
        raise ValueError("our bug")

    remembered(ada)[0].encode_repeated = fails
    ada.says(beat)
    *_, (correlation_id, response) = ada.hears("heartbeat", 4)
    assert (correlation_id, response.error_code) == (7, ErrorCode.unknown_server_error)
    assert not ada.closed


def test_repeated_fetch_sees_pending_offsets() -> None:
    ada = Producer()
    ada.init()
    fetch = frame("offset_fetch", 9, 7, groups=to_fetch(GROUP, TOPIC, 0), require_stable=True)
    watcher = ada.broker.client()

    def watched() -> list[tuple[int, ErrorCode]]:
        watcher.says(fetch)
        ((_, response),) = watcher.hears("offset_fetch", 9)
        return [(p.committed_offset, p.error_code) for t in response.groups[0].topics for p in t.partitions]

    assert [watched() for _ in range(3)] == [[(-1, ErrorCode.none)]] * 3
    for before, offset in ((-1, 5), (5, 6)):
        assert ada.commits_offset(5, offset) is ErrorCode.none
        assert watched() == [(-1, ErrorCode.unstable_offset_commit)], f"no more than {before} is known for certain"
        assert ada.ends(5, committed=True) is ErrorCode.none
        assert [watched() for _ in range(3)] == [[(offset, ErrorCode.none)]] * 3


def test_disconnect_frees_cache() -> None:
    broker = Broker()
    ada = broker.client()
    for _ in range(3):
        ada.says(commit(1))
    assert len(remembered(ada)) == 1
    ada.connection.connection_lost(None)
    assert not known(ada).requests


def test_single_or_long_requests_uncached() -> None:
    ada = Broker().client()
    ada.says(commit(1))
    assert not remembered(ada)
    for offset in range(3):
        ada.says(commit(offset, partitions=LONGEST_BYTES // 16))
    assert not remembered(ada)


def test_one_version_per_api_is_cached() -> None:
    ada = Broker().client()
    for version in (0, 1, 4):
        for number in range(3):
            ada.says(frame("heartbeat", version, number, group_id="g", generation_id=1, member_id="m"))
    assert [request.version for request in remembered(ada)] == [4]
    assert len(known(ada).requests) == 1


def test_shared_connection_is_not_cached() -> None:
    broker = Broker()
    ada = broker.client()
    for number in range(PATIENCE + 2):
        ada.says(commit(1, member_id=f"member-{number:03}"))
    assert not remembered(ada)
    assert known(ada).skips == SKIPPED
    for number in range(SKIPPED + 3):
        ada.says(commit(number, member_id="member-001"))
    assert len(remembered(ada)) == 1, "it is requested again later"


# Requests of rebalances


def beat(generation: int, version: int = 4, member_id: str = "m") -> bytes:
    return frame("heartbeat", version, generation, group_id="g", member_id=member_id, generation_id=generation)


def join(version: int = 9, metadata: bytes = b"\0\0" + bytes(8), member_id: str = "m") -> bytes:
    protocols = (JoinGroupRequestProtocol(name="range", metadata=metadata),)
    return frame(
        "join_group", version, group_id="g", member_id=member_id, session_timeout_ms=9_000, protocol_type="consumer",
        protocols=protocols,
    )  # fmt: skip


def sync(generation: int, version: int = 5, *assignments: SyncGroupRequestAssignment, member_id: str = "m") -> bytes:
    names: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    return frame(
        "sync_group", version, group_id="g", member_id=member_id, generation_id=generation, assignments=assignments,
        **names,
    )  # fmt: skip


def says(broker: Broker, client: Client, *frames: bytes) -> None:
    """Send a few requests of a rebalance that are handled immediately; the others wait until sockets are read."""
    for each in frames:
        client.says(each)
        broker.loop.run_soon()


def names_remembered(client: Client) -> list[str]:
    return [request.api.spec.name for request in remembered(client)]


def test_heartbeat_of_next_generation_is_cached() -> None:
    broker = Broker(group_initial_rebalance_delay_ms=0)
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(1)
    ada = broker.client()
    ada.says(join(0, member_id=""))
    broker.loop.wait(5)
    ((_, joined),) = ada.hears("join_group", 0)
    says(broker, ada, *[beat(generation, member_id=joined.member_id) for generation in (1, 1, 1, 2, 2, 1, 3, 1)])
    none, illegal = ErrorCode.none, ErrorCode.illegal_generation
    heard = [response.error_code for _, response in ada.hears("heartbeat", 4)]
    assert heard == [none, none, none, illegal, illegal, none, illegal, none]
    assert names_remembered(ada) == ["heartbeat"]


def test_repeated_join_is_cached() -> None:
    broker = Broker()
    ada = broker.client()
    says(broker, ada, beat(1), *[join(metadata=b"generation %03d" % number) for number in range(2 * PATIENCE)])
    assert not remembered(ada), "Java's consumers say their generation"
    says(broker, ada, join())
    assert not remembered(ada)
    says(broker, ada, join())
    assert names_remembered(ada) == ["join_group"]
    says(broker, ada, *[join(metadata=bytes(LONGEST_BYTES))] * 3)
    assert not remembered(ada)
    assert known(ada).skips == 0


def test_sync_with_assignments_is_decoded() -> None:
    broker = Broker()
    ada = broker.client()
    share = SyncGroupRequestAssignment(member_id="m", assignment=b"share")
    says(broker, ada, beat(1), *[sync(generation, 5, share) for generation in range(2 * PATIENCE)])
    assert not remembered(ada)
    assert known(ada).skips == 0
    says(broker, ada, sync(1), sync(2))
    assert names_remembered(ada) == ["sync_group"]


def test_shared_connection_syncs_are_not_cached() -> None:
    broker = Broker()
    ada = broker.client()
    says(broker, ada, beat(1), *[sync(1, member_id=f"member-{number:03}") for number in range(PATIENCE + 2)])
    assert not remembered(ada)
    assert known(ada).skips == SKIPPED


def test_single_join_costs_no_memory() -> None:
    broker = Broker()
    ada = broker.client()
    says(broker, ada, *[join(), sync(1)] * 3)
    assert not known(ada).requests
    says(broker, ada, beat(1))
    assert len(known(ada).requests) == 1


def consumer_beat(epoch: int, version: int = 1, **more: Any) -> bytes:
    return frame("consumer_group_heartbeat", version, group_id="g", member_id="m", member_epoch=epoch, **more)


def test_other_heartbeat_fields_are_decoded() -> None:
    ada = Broker().client()
    more: tuple[dict[str, Any], ...] = (
        {"rebalance_timeout_ms": 9_000}, {"subscribed_topic_names": ("t",)}, {"subscribed_topic_regex": "t.*"},
        {"server_assignor": "range"}, {"rack_id": "r"}, {"topic_partitions": ()},
    )  # fmt: skip
    for fields in more:
        ada.says(*[consumer_beat(epoch, **fields) for epoch in range(1, 2 * PATIENCE)])
        assert not remembered(ada)
        assert known(ada).skips == 0
    for instance_id in (None, "i"):
        ada.says(*[consumer_beat(epoch, instance_id=instance_id) for epoch in range(1, 4)])
        assert names_remembered(ada) == ["consumer_group_heartbeat"]


def streams_beat(epoch: int, version: int = 1, **more: Any) -> bytes:
    return frame("streams_group_heartbeat", version, group_id="g", member_id="m", member_epoch=epoch, **more)


def test_other_streams_heartbeat_fields_are_decoded() -> None:
    ada = Broker().client()
    task_offset = TaskOffset(subtopology_id="0", partition=0, offset=1)
    more: tuple[dict[str, Any], ...] = (
        {"rebalance_timeout_ms": 9_000}, {"rack_id": "r"}, {"topology": Topology(epoch=0, subtopologies=())},
        {"active_tasks": ()}, {"standby_tasks": ()}, {"warmup_tasks": ()}, {"process_id": "p"},
        {"user_endpoint": Endpoint(host="h", port=1)}, {"client_tags": ()}, {"task_offsets": (task_offset,)},
        {"task_end_offsets": (task_offset,)}, {"shutdown_application": True},
    )  # fmt: skip
    for fields in more:
        ada.says(*[streams_beat(epoch, **fields) for epoch in range(1, 2 * PATIENCE)])
        assert not remembered(ada), fields
        assert known(ada).skips == 0
    for instance_id in (None, "i"):
        ada.says(*[streams_beat(epoch, instance_id=instance_id) for epoch in range(1, 4)])
        assert names_remembered(ada) == ["streams_group_heartbeat"]


def test_acknowledgement_keeps_cached_heartbeat() -> None:
    ada = Broker().client()
    ada.says(*[consumer_beat(epoch) for epoch in range(1, 4)])
    (cached,) = remembered(ada)
    request = cached.request
    ada.says(consumer_beat(4, topic_partitions=()))
    ada.says(consumer_beat(5))
    assert cached.request is request
    assert request.member_epoch == 5


def versions(name: str) -> range:
    return range(API_BY_NAME[name].min_version, API_BY_NAME[name].max_version + 1)


@pytest.mark.parametrize(
    ("said", "generation"),
    [
        *[pytest.param(beat(7, v), "generation_id", id=f"heartbeat-{v}") for v in versions("heartbeat")],
        *[pytest.param(join(v), "", id=f"join-{v}") for v in versions("join_group")],
        *[pytest.param(sync(7, v), "generation_id", id=f"sync-{v}") for v in versions("sync_group")],
        *[pytest.param(consumer_beat(7, v), "member_epoch", id=f"consumer-{v}") for v in (0, 1)],
        *[pytest.param(streams_beat(7, v), "member_epoch", id=f"streams-{v}") for v in (0, 1)],
    ],
)
def test_changed_generation_bit(said: bytes, generation: str) -> None:
    broker = Broker()
    ada = broker.client()
    says(broker, ada, beat(1, said[7] if said[5] == 12 else 0), said, said, said)
    (cached,) = [request for request in remembered(ada) if request.api.spec.key == said[5]]
    at = said.find((7).to_bytes(4, "big"), 12)
    for byte in range(12, len(said)):
        for bit in range(8):
            other = bytearray(said)
            other[byte] ^= 1 << bit
            is_generation = generation != "" and at <= byte < at + 4
            assert cached.matches(bytes(other), 4) == is_generation, (byte, bit)
            if is_generation:
                assert getattr(cached.request, generation) == int.from_bytes(other[at : at + 4], "big", signed=True)
            assert cached.matches(said, 4)
            assert not generation or getattr(cached.request, generation) == 7
    assert not cached.matches(said + b"\x00", 4)
    assert not cached.matches(said[:-1], 4)


# What may differ


def test_other_bit_makes_another_request() -> None:
    said = commit(1_000, partitions=2)[8:]
    places = NUMBERS_AT["offset_commit"](9, commit(1_000, partitions=2), commit_body())
    assert places is not None
    begins = [place - 8 for place in places.places]
    pattern = Pattern(said, begins)
    assert pattern.numbers(said) == (1_000, 1_000)
    numbers = {begin + byte for begin in begins for byte in range(OFFSET_BYTES)}
    for byte in range(len(said)):
        for bit in range(8):
            other = bytearray(said)
            other[byte] ^= 1 << bit
            found = pattern.numbers(bytes(other))
            assert (found is not None) == (byte in numbers)
    assert pattern.numbers(said + b"\x00") is None
    assert pattern.numbers(said[:-1]) is None


def commit_body() -> int:
    return read_header(commit(1_000, partitions=2), 4).body_offset
