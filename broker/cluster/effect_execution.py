"""Execution of the effects that coordinators return."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kohort.base.logs import log
from kohort.broker.cluster.broker_hooks import NO_HOOKS
from kohort.broker.short_text import short_text
from kohort.coordinator.effects import (
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTION_TOPIC,
    Append,
    Cause,
    GroupWarning,
    Replies,
    Reply,
    Transition,
    WriteMarkers,
)
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.node import Node
    from kohort.coordinator.context import CoordinatorContext


REPLIES_AT_ONCE: Final = 500  # responses of a rebalance sent before other requests are handled: a few milliseconds

# partitions that get a transaction marker before other requests are handled: some milliseconds
MARKERS_AT_ONCE: Final = 256

MARKERS_PAUSE_MS: Final = 1  # pause before the next ones


def perform(cluster: BrokerCluster, now_ms: int) -> None:
    """Execute pending effects, and those that result from them.

    A reported append, for example, releases responses.
    """
    for node in cluster.nodes:
        effects = node.coordinator.effects
        for effect in effects:  # iterating over a list includes elements that are appended meanwhile
            try:
                if type(effect) is Reply:
                    effect.ticket.reply(effect.response)
                elif type(effect) is Replies:
                    _answer_some(cluster, effect.answers, now_ms)
                elif type(effect) is Append:
                    _do_append(cluster, node, effect, now_ms)
                elif type(effect) is WriteMarkers:
                    _write_markers(cluster, node.transactions, effect, now_ms)
                elif type(effect) is Transition:
                    if log.info_enabled:
                        log.info(describe(effect), **_values(effect))
                elif type(effect) is GroupWarning:
                    log.warning(f"{effect.group_id}: {effect.text}", group=effect.group_id)
                else:
                    cluster.group_events.take(node.coordinator, effect)  # type: ignore[arg-type]  # a GroupEvent
            except Exception:  # effects are independent: the others must still be executed
                log.error(f"an effect failed: {short_text(effect)}")
                if type(effect) is Reply:
                    effect.ticket.fail()
        effects.clear()
    for coordinator in cluster.coordinators:
        if coordinator.effects:  # an effect on one node may cause one on a previous node
            perform(cluster, now_ms)


def _answer_some(cluster: BrokerCluster, answers: Iterator[tuple[Any, Any]], now_ms: int) -> None:
    count = 0
    for ticket, response in islice(answers, REPLIES_AT_ONCE):
        count += 1
        try:
            ticket.reply(response)
        except Exception:  # responses are independent
            log.error(f"an effect failed: {short_text(Reply(ticket, response))}")
            ticket.fail()
    if count == REPLIES_AT_ONCE:
        cluster.soon(partial(_answer_some, cluster, answers))


def _do_append(cluster: BrokerCluster, node: Node, effect: Append, now_ms: int) -> None:
    coordinator: CoordinatorContext = (
        node.coordinator if effect.topic is OFFSETS_TOPIC else node.coordinator_for(effect.topic)
    )
    if cluster.hooks is NO_HOOKS:
        written, last_offset = _append(cluster, effect, now_ms)
        if cluster.syncs is None:  # the usual case, with as few calls as possible
            coordinator.appended(effect.token, written, now_ms, last_offset)
        else:
            _report(cluster, coordinator, effect.token, written, last_offset, now_ms)
        return
    error, last_offset = cluster.hooks.refuses(coordinator, effect), None
    if error is None:
        error, last_offset = _append(cluster, effect, now_ms)
    report = partial(_report, cluster, coordinator, effect.token, error, last_offset)
    if not cluster.hooks.holds(effect, report):
        report(now_ms)


def _report(
    cluster: BrokerCluster,
    coordinator: CoordinatorContext,
    token: int,
    error: ErrorCode,
    last_offset: int | None,
    now_ms: int,
) -> None:
    """Report the outcome of a write to its coordinator, after a sync if `fsync` requires one."""
    if cluster.syncs is None or error is not ErrorCode.none:
        coordinator.appended(token, error, now_ms, last_offset)
        return

    def synced(now_ms: int, problem: OSError | None) -> None:
        if problem is None:
            coordinator.appended(token, ErrorCode.none, now_ms, last_offset)
        else:
            coordinator.appended(token, ErrorCode.kafka_storage_error, now_ms)

    cluster.syncs.after(synced)


def _append(cluster: BrokerCluster, effect: Append, now_ms: int) -> tuple[ErrorCode, int | None]:
    try:
        if effect.topic is TRANSACTION_TOPIC:
            topic = cluster.transaction_topic
            return topic.append(effect.partition, effect.records, effect.timestamp_ms, now_ms), None
        if effect.topic is SHARE_STATE_TOPIC:
            return cluster.share_state_topic.append(effect.partition, effect.records, effect.timestamp_ms, now_ms)
        return cluster.offsets_topic.append(
            effect.partition, effect.records, effect.timestamp_ms, now_ms, effect.producer
        )
    except OSError as problem:
        cluster.storage_failed(f"{effect.topic}-{effect.partition}", problem)
        return ErrorCode.kafka_storage_error, None
    except Exception:
        log.error(f"writing to {effect.topic}-{effect.partition} failed: {short_text(effect.records)}")
        return ErrorCode.unknown_server_error, None


def _write_markers(cluster: BrokerCluster, coordinator: CoordinatorContext, effect: WriteMarkers, now_ms: int) -> None:
    """Write transaction markers to MARKERS_AT_ONCE partitions now, and to the others later.

    The outcome is reported when all are written. Writing stops when the coordinator has lost the transaction, because
    the next coordinator writes all markers.
    """
    some, remaining = effect.partitions[:MARKERS_AT_ONCE], effect.partitions[MARKERS_AT_ONCE:]
    error = _write_some_markers(cluster, effect._replace(partitions=some), now_ms)
    if error is not ErrorCode.none or not remaining:
        _report(cluster, coordinator, effect.token, error, None, now_ms)
    elif coordinator.awaits(effect.token):
        cluster.purgatory.wait(_OtherMarkers(cluster, coordinator, effect._replace(partitions=remaining)))


class _OtherMarkers(DelayedOperation):
    """The next transaction markers, after other requests have been handled."""

    __slots__ = ("_cluster", "_coordinator", "_effect")

    def __init__(self, cluster: BrokerCluster, coordinator: CoordinatorContext, effect: WriteMarkers) -> None:
        # Based on the current time: what is due before it would run in this same turn.
        super().__init__(cluster.clock.now_ms() + MARKERS_PAUSE_MS)
        self._cluster = cluster
        self._coordinator = coordinator
        self._effect = effect

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if self._coordinator.awaits(self._effect.token):
            _write_markers(self._cluster, self._coordinator, self._effect, now_ms)


def _write_some_markers(cluster: BrokerCluster, effect: WriteMarkers, now_ms: int) -> ErrorCode:
    from kohort.broker.cluster.transaction_markers import write_markers

    try:
        return write_markers(cluster, effect, now_ms)
    except OSError as problem:
        cluster.storage_failed("the end of a transaction", problem)
        return ErrorCode.kafka_storage_error
    except Exception:
        log.error(f"writing the end of a transaction failed: {short_text(effect)}")
        return ErrorCode.unknown_server_error


CAUSES: Final = {
    "all_joined": "all members joined",
    "nobody_left": "no member is left",
    "assignment_stored": "assigned the partitions",
    "assignment_store_failed": "assigned the partitions, but the record could not be written",
    "group_store_failed": "the group's first record could not be written",
    "join_new": "joined",
    "join_static": "joined as a static member",
    "rejoin_leader": "rejoined as the leader",
    "metadata_changed": "changed its subscription",
    "cooperative_followup": "rejoined after revoking partitions",
    "static_protocol_changed": "rejoined with other protocols",
    "leave_explicit": "left",
    "leave_poll_timeout": "left, as max.poll.interval.ms was exceeded",
    "leave_admin": "was removed by an administrator",
    "session_expired": "session expired",
    "new_member_join_timeout": "did not join in time",
    "barrier_timeout": "did not rejoin in time",
    "sync_timeout": "did not sync in time",
    "over_capacity": "the group is larger than group.max.size",
    "coordinator_failover": "the coordinator moved",
    "group_deleted": "the group was deleted",
    "topic_metadata_changed": "subscribed topics have changed",
    "regex_changed": "subscribed patterns match other topics",
    "epoch_timeout": "did not revoke its partitions in time",
    "protocol_migration": "the group changes its protocol",
    "partitions_ready": "share partitions are ready",
    "initial_delay": "the initial rebalance delay has ended",
    "offsets_altered": "its offsets were altered",
    "acknowledged": "acknowledged by a member",
    "session_closed": "the member closed its share session",
    "connection_closed": "the connection of the member's share session ended",
    "state_forgotten": "the leader lost its state",
    "delivery_limit": "the delivery limit was reached",
    "below_start": "the log or the group starts later",
    "gap": "acknowledged as a gap by a member",
    "compacted": "removed by compaction",
    "aborted": "their transaction was aborted",
}  # Causes of offsets-topic §9.3 in words. Other causes are logged by their names, with spaces.


def describe(transition: Transition) -> str:
    """Return a transition as one line: the group, the states, and the cause with its member."""
    states = f"{transition.from_state} -> {transition.to_state}"
    return (
        f"{transition.group_id}: {states}, generation {transition.generation_id}, {_describe_cause(transition.cause)}"
    )


def _describe_cause(cause: Cause) -> str:
    description = CAUSES.get(cause.name, cause.name.replace("_", " "))
    member = cause.client_id or cause.member_id
    if member:
        host = cause.client_host.removeprefix("/")
        description = f"{member}@{host} {description}" if host else f"{member} {description}"
    return f"{description} ({cause.reason})" if cause.reason else description


def _values(transition: Transition) -> dict[str, object]:
    cause = transition.cause
    return {
        "group": transition.group_id,
        "partition": transition.partition,
        "from": transition.from_state,
        "to": transition.to_state,
        "generation": transition.generation_id,
        "members": transition.members,
        "cause": cause.name,
        "member": cause.member_id,
        "client_id": cause.client_id,
        "client_host": cause.client_host,
        "reason": cause.reason,
    }
