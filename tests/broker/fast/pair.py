"""A client of each of two brokers; both send the same requests and receive the same responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import TopicPartitions
from kohort.protocol.messages.streams_group_heartbeat import TaskIds
from tests.broker.repeating_member import some_member
from tests.support.frames import frame

if TYPE_CHECKING:
    from tests.broker.fast.repeated_world import World

EPOCH_HEARTBEATS = ("consumer_group_heartbeat", "streams_group_heartbeat")


class Pair:
    """A client of each broker; both send the same requests."""

    def __init__(self, world: World, node: int) -> None:
        self.world, self.node = world, node
        self.member = some_member(world.chance.choice(world.groups), world.chance)
        self.favourites: list[tuple[str, int, dict[str, Any]]] = []
        """Requests that it has sent, and sends again."""
        self.asked: dict[int, tuple[str, int]] = {}
        self.owned: tuple[TopicPartitions, ...] = ()
        """Assignment that a member of a consumer group received."""
        self.tasks: tuple[TaskIds, ...] = ()
        """Active tasks that a member of a streams group received, and the epoch of the endpoints."""
        self.endpoint_epoch = 0
        self.connect()

    def connect(self) -> None:
        self.clients = [self.world.client(broker, self.node) for broker in self.world.brokers]
        self.asked.clear()

    def says(self, data: bytes) -> None:
        for client in self.clients:
            client.says(data)
        self.hears()

    def hears(self) -> None:
        quick, slow = (client.heard() for client in self.clients)
        assert quick == slow
        assert self.clients[0].closed == self.clients[1].closed
        for heard in quick:
            name, version = self.asked.pop(int.from_bytes(heard[:4], "big"), ("", 0))
            if name in ("join_group", *EPOCH_HEARTBEATS):
                self._takes(name, self.world.message(name).read_response(version, heard)[1])
        if self.clients[0].closed:
            self.connect()

    def _takes(self, name: str, response: Any) -> None:
        if response.error_code is ErrorCode.member_id_required:
            self.member.member_id = response.member_id
        elif response.error_code is ErrorCode.none:
            self.member.member_id = response.member_id
            self.member.generation = response.generation_id if name == "join_group" else response.member_epoch
            if name == "consumer_group_heartbeat" and response.assignment is not None:
                self.owned = tuple(
                    TopicPartitions(topic_id=topic_partition.topic_id, partitions=topic_partition.partitions)
                    for topic_partition in response.assignment.topic_partitions
                )
            elif name == "streams_group_heartbeat":
                self.endpoint_epoch = response.endpoint_information_epoch
                if response.active_tasks is not None:
                    self.tasks = tuple(
                        TaskIds(subtopology_id=tasks.subtopology_id, partitions=tasks.partitions)
                        for tasks in response.active_tasks
                    )
        elif name in EPOCH_HEARTBEATS and response.error_code in (
            ErrorCode.unknown_member_id,
            ErrorCode.fenced_member_epoch,
        ):
            self.member.generation = 0

    def frame(self, name: str, version: int, **fields: Any) -> bytes:
        self.world.correlation_id += 1
        self.asked[self.world.correlation_id] = name, version
        return frame(name, version, self.world.correlation_id, **fields)
