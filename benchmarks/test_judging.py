"""Tests that the load generator notices wrong responses."""

import asyncio

import pytest

from benchmarks import replies, requests
from benchmarks.connection import ClosedLoop
from benchmarks.failures import Failures
from benchmarks.group import STABLE, Group
from benchmarks.judged_wire import Wire, connected, reply_to, whole
from benchmarks.measurements import commit, data, heartbeat
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import heartbeat as heartbeat_messages
from kohort.protocol.messages import join_group, leave_group, offset_commit, offset_fetch, sync_group
from kohort.protocol.messages.fetch import MESSAGE as FETCH_MESSAGE
from kohort.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData

ADA, BOB = "bench-ada", "bench-bob"


def joined(member_id: str, generation: int, leader: str, listed: tuple[str, ...] = ()) -> bytes:
    """Return a JoinGroup response without length and correlation id."""
    response = join_group.JoinGroupResponse(
        error_code=ErrorCode.none,
        generation_id=generation,
        protocol_type=requests.PROTOCOL_TYPE,
        protocol_name=requests.PROTOCOL,
        leader=leader,
        member_id=member_id,
        members=tuple(
            join_group.JoinGroupResponseMember(member_id=member, metadata=requests.METADATA) for member in listed
        ),
    )
    return whole(join_group.MESSAGE.write(9, 0, response))[8:]


class TestConnection:
    def test_replies_are_matched_however_the_bytes_are_cut(self) -> None:
        client, wire = connected()
        payloads: list[bytes] = []
        for _ in range(3):
            client.ask(bytes(20), lambda payload, _: payloads.append(payload))
        stream = b"".join(reply_to(sent, bytes(size)) for sent, size in zip(wire.sent, (1, 70_000, 3), strict=True))
        for cut in (1, 3, 5, 4096, 99_999):
            client.data_received(stream[:cut])
            stream = stream[cut:]
        assert [len(piece) for piece in payloads] == [5, 70_004, 7]
        assert not client.waiting
        assert not client.failures.counts

    def test_a_wrong_correlation_id(self) -> None:
        client, _ = connected()
        client.ask(bytes(20), lambda payload, _: pytest.fail("taken for an answer"))
        client.data_received(reply_to(bytes(12), replies.BEAT))
        assert client.failures.counts == {"wrong correlation id": 1}

    def test_a_reply_to_nothing(self) -> None:
        client, _ = connected()
        client.data_received(reply_to(bytes(12), replies.BEAT))
        assert client.failures.counts == {"reply to nothing": 1}

    def test_a_loop_goes_on_and_counts_what_is_wrong(self) -> None:
        client, wire = connected()
        loop = ClosedLoop(client, lambda: bytes(20), lambda body: heartbeat.judge(body, client.failures))
        loop.counting = True
        loop.start()
        refused = heartbeat_messages.HeartbeatResponse(error_code=ErrorCode.unknown_member_id)
        for body in (replies.BEAT, whole(heartbeat_messages.MESSAGE.write(4, 0, refused))[8:], replies.BEAT + b"\0"):
            client.data_received(reply_to(wire.sent[-1], body))
        assert len(wire.sent) == 4
        assert len(loop.latencies_ns) == 3
        assert client.failures.counts == {"Heartbeat answered unknown_member_id": 1, "malformed reply": 1}


class TestGroup:
    @pytest.fixture
    async def two(self) -> tuple[Group, list[Wire]]:
        """Return a group of ada and bob, who have their ids and are about to join."""
        clients = [connected() for _ in range(2)]
        failures = clients[0][0].failures
        group = Group("g", [client for client, _ in clients], failures, 10_000)
        for member, name in zip(group.members, (ADA, BOB), strict=True):
            member.id = name
            member.join()
        return group, [wire for _, wire in clients]

    def hear(self, group: Group, number: int, wire: Wire, body: bytes) -> None:
        group.members[number].connection.data_received(reply_to(wire.sent[-1], body))

    async def test_all_is_well(self, two: tuple[Group, list[Wire]]) -> None:
        group, (ada, bob) = two
        group.whole = asyncio.get_running_loop().create_future()
        self.hear(group, 1, bob, joined(BOB, 1, ADA))
        self.hear(group, 0, ada, joined(ADA, 1, ADA, (ADA, BOB)))
        assert group.plan[ADA] != group.plan[BOB]
        self.hear(group, 0, ada, replies.synced(group.plan[ADA]))
        self.hear(group, 1, bob, replies.synced(group.plan[BOB]))
        assert group.whole.done()
        assert [member.state for member in group.members] == [STABLE, STABLE]
        assert not group.failures.counts

    async def test_the_assignment_of_another(self, two: tuple[Group, list[Wire]]) -> None:
        group, (ada, _) = two
        self.hear(group, 0, ada, joined(ADA, 1, ADA, (ADA, BOB)))
        self.hear(group, 0, ada, replies.synced(group.plan[BOB]))
        assert group.failures.counts == {"wrong assignment": 1}

    async def test_two_leaders_in_one_generation(self, two: tuple[Group, list[Wire]]) -> None:
        group, (ada, bob) = two
        self.hear(group, 0, ada, joined(ADA, 1, ADA, (ADA, BOB)))
        self.hear(group, 1, bob, joined(BOB, 1, BOB, (ADA, BOB)))
        assert group.failures.counts == {"leader disputed": 1, "several leaders": 1}

    async def test_a_generation_too_far(self, two: tuple[Group, list[Wire]]) -> None:
        group, (ada, bob) = two
        self.hear(group, 0, ada, joined(ADA, 1, ADA, (ADA, BOB)))
        self.hear(group, 1, bob, joined(BOB, 3, ADA))
        assert group.failures.counts == {"generation jumped": 1}

    async def test_a_list_for_a_follower(self, two: tuple[Group, list[Wire]]) -> None:
        group, (_, bob) = two
        self.hear(group, 1, bob, joined(BOB, 1, ADA, (ADA, BOB)))
        assert group.failures.counts == {"a follower got the list": 1}

    async def test_a_reply_that_is_cut_short(self, two: tuple[Group, list[Wire]]) -> None:
        group, (ada, _) = two
        self.hear(group, 0, ada, joined(ADA, 1, ADA, (ADA, BOB))[:-4])
        assert group.failures.counts == {"malformed reply": 1}


class TestOffsets:
    def fetched(self, offsets: dict[int, int]) -> bytes:
        topic = offset_fetch.OffsetFetchResponseTopic(
            name=commit.TOPIC,
            partitions=tuple(
                offset_fetch.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=offset, metadata=commit.NOTE, error_code=ErrorCode.none
                )
                for index, offset in offsets.items()
            ),
        )
        response = offset_fetch.OffsetFetchResponse(
            groups=(offset_fetch.OffsetFetchResponseGroup(group_id="g", topics=(topic,)),)
        )
        return bytes(offset_fetch.MESSAGE.write(commit.VERSION, 0, response))[8:]  # type: ignore[arg-type]

    def test_what_was_committed_must_come_back(self) -> None:
        failures = Failures()
        assert commit.judge_fetch(self.fetched({0: 256, 1: 257}), {0: 256, 1: 257}, failures)
        assert not failures.counts
        assert not commit.judge_fetch(self.fetched({0: 256, 1: 256}), {0: 256, 1: 257}, failures)
        assert failures.counts == {"other offsets fetched than committed": 1}

    def test_every_partition_must_be_committed(self) -> None:
        failures = Failures()
        topic = offset_commit.OffsetCommitResponseTopic(
            name=commit.TOPIC,
            partitions=(
                offset_commit.OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.illegal_generation),
            ),
        )
        response = offset_commit.OffsetCommitResponse(topics=(topic,))
        body = bytes(offset_commit.MESSAGE.write(commit.VERSION, 0, response))[8:]  # type: ignore[arg-type]
        assert not commit.judge_commit(body, 2, failures)
        assert failures.counts == {
            "OffsetCommit answered illegal_generation": 1,
            "other partitions committed than requested": 1,
        }


class TestData:
    BATCH = data.make_batch([50, 50])

    def fetcher(self) -> data.Fetcher:
        return data.Fetcher(connected()[0], 0, self.BATCH, 2, data.Phase(0))

    def fetched(self, *batches: bytes) -> bytes:
        part = PartitionData(
            partition_index=0,
            error_code=ErrorCode.none,
            high_watermark=4,
            aborted_transactions=None,
            records=list(batches),
        )
        response = FetchResponse(responses=(FetchableTopicResponse(topic=data.TOPIC, partitions=(part,)),))
        frame = FETCH_MESSAGE.write(data.FETCH, 0, response)
        return (frame if isinstance(frame, bytes) else b"".join(frame))[4:]

    def at(self, offset: int) -> bytes:
        return offset.to_bytes(8, "big") + self.BATCH[8:]

    def test_batches_that_follow_one_another(self) -> None:
        fetcher = self.fetcher()
        size, high_watermark = fetcher.judge(self.fetched(self.at(0), self.at(2), self.at(4)[:70]))
        assert (size, high_watermark, fetcher.offset) == (2 * len(self.BATCH), 4, 4)
        assert not fetcher.failures.counts

    def test_a_gap(self) -> None:
        fetcher = self.fetcher()
        fetcher.judge(self.fetched(self.at(0), self.at(3)))
        assert fetcher.failures.counts["a batch is not the next one"] == 1

    def test_one_bit_is_not_what_was_produced(self) -> None:
        fetcher = self.fetcher()
        fetcher.judge(self.fetched(self.at(0)[:-1] + b"\x01"))
        assert fetcher.failures.counts["a batch is not what was produced"] == 1

    def test_nothing_where_there_is_something(self) -> None:
        fetcher = self.fetcher()
        fetcher.judge(self.fetched())
        assert fetcher.failures.counts == {"nothing fetched": 1}


def test_requests_by_hand_are_those_of_kio() -> None:
    protocol = join_group.JoinGroupRequestProtocol(name=requests.PROTOCOL, metadata=requests.METADATA)
    assert requests.join_group("g", ADA, 10_000) == requests.by_kio(
        join_group.MESSAGE,
        9,
        join_group.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            member_id=ADA,
            protocol_type=requests.PROTOCOL_TYPE,
            protocols=(protocol,),
        ),
    )
    assignments = tuple(sync_group.SyncGroupRequestAssignment(member_id=m, assignment=b"x" * 9) for m in (ADA, BOB))
    assert requests.sync_group("g", ADA, 7, {ADA: b"x" * 9, BOB: b"x" * 9}) == requests.by_kio(
        sync_group.MESSAGE,
        5,
        sync_group.SyncGroupRequest(
            group_id="g",
            generation_id=7,
            member_id=ADA,
            protocol_type=requests.PROTOCOL_TYPE,
            protocol_name=requests.PROTOCOL,
            assignments=assignments,
        ),
    )
    assert requests.heartbeat("g", ADA, 7) == requests.by_kio(
        heartbeat_messages.MESSAGE,
        4,
        heartbeat_messages.HeartbeatRequest(group_id="g", generation_id=7, member_id=ADA),
    )
    assert requests.leave_group("g", ADA) == requests.by_kio(
        leave_group.MESSAGE,
        5,
        leave_group.LeaveGroupRequest(group_id="g", members=(leave_group.MemberIdentity(member_id=ADA),)),
    )


def test_replies_expected_are_those_of_the_codec() -> None:
    synced = sync_group.SyncGroupResponse(
        error_code=ErrorCode.none,
        protocol_type=requests.PROTOCOL_TYPE,
        protocol_name=requests.PROTOCOL,
        assignment=b"mine",
    )
    assert replies.synced(b"mine") == sync_group.MESSAGE.write(5, 0, synced)[8:]
    member = leave_group.MemberResponse(member_id=ADA, group_instance_id=None, error_code=ErrorCode.none)
    response = leave_group.LeaveGroupResponse(error_code=ErrorCode.none, members=(member,))
    assert replies.leave_response(ADA) == leave_group.MESSAGE.write(5, 0, response)[8:]
    beat = heartbeat_messages.HeartbeatResponse(error_code=ErrorCode.none)
    assert heartbeat_messages.MESSAGE.write(4, 0, beat)[8:] == replies.BEAT
