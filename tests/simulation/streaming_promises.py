"""What holds at every moment for streams groups, and when all is quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kohort.broker.cluster.node import Node
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.loading import Loading
from kohort.coordinator.modern.modern_values import TargetEpoch
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_records import STREAMS_RECORDS
from kohort.coordinator.streams.streams_group_values import StreamsEpoch, StreamsKind
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.protocol.batches import keys_and_values, read_batches
from kohort.protocol.records.record_reader import RecordReader
from kohort.purgatory import Purgatory
from kohort.storage.topic import Topic
from tests.simulation.streaming import GROUPS, Streaming
from tests.simulation.streams_thread import Thread
from tests.support.streams_groups import one_active_owner_each, picture_of

OFFSETS = "__consumer_offsets"


def coordinators_know_one_owner_each(streaming: Streaming) -> None:
    """Check that coordinators have one owner per task, and ordered epochs."""
    for node in streaming.cluster.nodes:
        one_active_owner_each(node.coordinator)


def nobody_works_on_what_another_one_does(streaming: Streaming) -> None:
    """Check that no active task of current members has two owners, and no process two copies.

    A fenced member that does not know it yet may be wrong.
    """
    for group_id in GROUPS:
        group = streaming.streams_group(group_id)
        if group is None:
            continue
        owners: dict[tuple[str, int], Thread] = {}
        holders: dict[tuple[str, str, int], Thread] = {}
        for thread in _members(streaming, group):
            assert not thread.active & thread.standby, f"{thread} has a task in two roles"
            for task in thread.active:
                other = owners.setdefault(task, thread)
                assert other is thread, f"{other} and {thread} both work on {task}"
            for task in thread.active | thread.standby:
                other = holders.setdefault((thread.process_id, *task), thread)
                assert other is thread, f"{other} and {thread} of one process both have {task}"


def _members(streaming: Streaming, group: StreamsGroup) -> Iterable[Thread]:
    for thread in streaming.members:
        if thread.group_id == group.group_id and thread.member_id in group.members and thread.epoch > 0:
            yield thread


def an_epoch_is_known_to_its_group(streaming: Streaming) -> None:
    """Check that no thread has an epoch beyond its group's."""
    for group_id in GROUPS:
        group = streaming.streams_group(group_id)
        for thread in () if group is None else _members(streaming, group):
            assert group is not None
            assert thread.epoch <= group.epoch, f"{thread} is beyond {group.epoch}"


PROMISES = (
    coordinators_know_one_owner_each,
    nobody_works_on_what_another_one_does,
    an_epoch_is_known_to_its_group,
)


def epochs_only_grow(streaming: Streaming) -> None:
    """Check that epochs of a group and its target only grow in the log, until its deletion."""
    topic = _offsets_topic(streaming)
    for partition in topic.partitions:
        epochs: dict[tuple[str, StreamsKind], int] = {}
        for data in partition.log.batches():
            for batch in read_batches(data):
                for key, value in keys_and_values(data, batch):
                    _note_epoch(epochs, key, value)


def _note_epoch(epochs: dict[tuple[str, StreamsKind], int], key: bytes | None, value: bytes | None) -> None:
    reader = RecordReader(key or b"\x00\x00")
    kind = reader.int16()
    if kind not in (StreamsKind.GROUP_EPOCH, StreamsKind.TARGET_EPOCH):
        return
    read = STREAMS_RECORDS.read_change(kind, reader, value)
    assert read is not None
    at = read[0], StreamsKind(kind)
    match read[1].value:
        case StreamsEpoch(epoch=epoch) | TargetEpoch(epoch=epoch):
            assert epoch > epochs.get(at, 0), f"{at} is {epoch} after {epochs[at]}"
            epochs[at] = epoch
        case _:
            epochs.pop(at, None)


def the_log_tells_the_same(streaming: Streaming) -> None:
    """Check, when nothing is being written, that a loaded log equals the coordinator's state.

    Exceptions are what Kafka keeps in memory only: the topology with its numbers, the endpoints' epoch, and the
    shutdown request (streams-groups §4).
    """
    if streaming.writes.waiting:
        return
    topic = _offsets_topic(streaming)
    for node in streaming.cluster.nodes:
        for index in [index for index, shard in node.coordinator.shards.items() if shard is Shard.ACTIVE]:
            _compare(streaming, node, index, topic)


def _offsets_topic(streaming: Streaming) -> Topic:
    topic = streaming.cluster.topics.by_name(OFFSETS)
    assert topic is not None
    return topic


def _compare(streaming: Streaming, node: Node, index: int, topic: Topic) -> None:
    live = node.coordinator
    assert not live.unwritten
    other = GroupCoordinator(live.settings, Purgatory(), str, partitions=live.partitions, epoch_ms=live.epoch_ms)
    other.topics, other.configs = live.topics, live.configs
    loading = Loading(other, index)
    for data in topic.partitions[index].log.batches():
        for batch in read_batches(data):
            loading.apply_batch(data, batch)
    loading.finish(streaming.now_ms())
    for group in live.of_type("streams"):
        if group.partition == index:
            group_id = group.group_id
            told = other.streams_group(group_id)
            assert told is not None, f"{group_id} is not in the log"
            assert picture_of(told) == picture_of(group), f"{group_id} is not in the log as it is"
            assert (told.configured, told.endpoint_epoch, told.shutdown_requested_by) == (None, 0, None), "kept"
    assert other.groups.keys() <= live.groups.keys(), "the log has a group too much"


def every_task_is_somebodys(streaming: Streaming) -> None:
    """Check at the end that tasks have one owner and enough standbys, and no commit is lost.

    The group counts a task as a thread's even if the response was lost, as Kafka does.
    """
    for group_id in GROUPS:
        group = streaming.streams_group(group_id)
        assert group is not None, f"{group_id} is gone"
        assert group.state is StreamsGroupState.STABLE, f"{group_id} is {group.state}"
        assert group.configured is not None
        threads = list(_members(streaming, group))
        assert len(threads) == len(group.members), f"{group_id} has unknown members"
        _check_tasks(streaming, group, threads)
    streaming.no_commit_is_lost()


def _check_tasks(streaming: Streaming, group: StreamsGroup, threads: list[Thread]) -> None:
    assert group.configured is not None
    active: Counter[tuple[str, int]] = Counter()
    standby: Counter[tuple[str, int]] = Counter()
    for thread in threads:
        given = group.members[thread.member_id].current.assigned
        has = {(name, each) for name in given.active for each in given.active[name]}
        copies = {(name, each) for name in given.standby for each in given.standby[name]}
        if not thread.missed:
            assert (thread.active, thread.standby) == (has, copies), f"{thread} does something else"
        active.update(has)
        standby.update(copies)
    replicas = min(streaming.replicas[group.group_id], len({thread.process_id for thread in threads}) - 1)
    for name, tasks in group.configured.tasks.items():
        for task in ((name, number) for number in range(tasks)):
            assert active[task] == 1, f"{group.group_id}: {task} has no owner"
            wanted = replicas if name in group.configured.stateful else 0
            assert standby[task] == wanted, f"{group.group_id}: {task} has {standby[task]} standbys, not {wanted}"
