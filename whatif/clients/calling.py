"""Calls of a coordinator's functions for the requests of a member, without a connection."""

from __future__ import annotations

from typing import Any, NamedTuple

from kohort.coordinator.classic.classic_requests import heartbeat_in_consumer_group, join_group, leave_group, sync_group
from kohort.coordinator.classic.heartbeating import heartbeat
from kohort.coordinator.classic.joining import Joiner
from kohort.coordinator.consumer.consumer_heartbeating import consumer_group_heartbeat
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.coordinator.offsets.committing import Commit, offset_commit
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kohort.protocol.messages.heartbeat import HeartbeatRequest
from kohort.protocol.messages.join_group import JoinGroupRequest
from kohort.protocol.messages.leave_group import LeaveGroupRequest
from kohort.protocol.messages.offset_commit import OffsetCommitRequest
from kohort.protocol.messages.sync_group import SyncGroupRequest


class Caller(NamedTuple):
    """The sender of a request: what its connection and the versions of its requests add."""

    client_id: str
    host: str = "/127.0.0.1"
    needs_id: bool = True  # uses JoinGroup v4 or newer
    skips: bool = True  # uses JoinGroup v9 or newer
    knows_epochs: bool = True  # uses OffsetCommit v9 or newer


class HeartbeatOutcome(NamedTuple):
    """The response to a heartbeat of the classic protocol."""

    error_code: E


def call(coordinator: GroupCoordinator, request: Any, caller: Caller, ticket: object, now_ms: int) -> Any:
    """Return the response, or None if an effect of the coordinator answers the ticket later."""
    match request:
        case HeartbeatRequest():
            group_id, member_id = request.group_id, request.member_id
            identity = group_id, member_id, request.group_instance_id, request.generation_id
            error = heartbeat(coordinator, *identity, now_ms)
            if error is E.unknown_member_id:  # in the order of `broker/apis/heartbeat.py`: classic groups first
                error = heartbeat_in_consumer_group(coordinator, *identity, now_ms)
            return HeartbeatOutcome(error)
        case ConsumerGroupHeartbeatRequest():
            sender = Sender(ticket, caller.client_id, caller.host, 1)
            return consumer_group_heartbeat(coordinator, request, sender, now_ms)
        case OffsetCommitRequest():
            topics = [(topic.name, topic.topic_id, topic) for topic in request.topics]
            commit = Commit(request, topics, refused=[], ticket=ticket, knows_epochs=caller.knows_epochs)
            return offset_commit(coordinator, commit, now_ms)
        case JoinGroupRequest():
            joiner = Joiner(
                ticket=ticket,
                client_id=caller.client_id,
                client_host=caller.host,
                needs_member_id=caller.needs_id,
                can_skip_assignment=caller.skips,
            )
            return join_group(coordinator, request, joiner, now_ms)
        case SyncGroupRequest():
            return sync_group(coordinator, request, ticket, now_ms)
        case LeaveGroupRequest():
            return leave_group(coordinator, request, ticket, now_ms)
    raise TypeError(f"no call for {type(request).__name__}")
