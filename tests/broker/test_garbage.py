"""What a request leaves behind goes by reference count: full collections find nothing, and are short."""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from kohort.broker.runtime.run import collect_garbage_seldom
from kohort.broker.scheduling.offloaded_decoding import READ_AT_ONCE
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.protocol.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.whatif.clients.group_member import to_commit
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic
from tests.support.frames import frame
from tests.support.worker_thread import Thread

COUNT = 2 * SHORT + 1
MANY = READ_AT_ONCE + 1


def garbage_of(action: Callable[[], object]) -> Counter[str]:
    """Count kohort's objects, by type, that only the garbage collector frees after `action`."""
    gc.collect()
    gc.disable()
    try:
        action()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.garbage)
        return Counter(name for name in names if name.startswith(("kohort.", "kio.")))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.fixture
def broker() -> Broker:
    broker = Broker()
    given_topic(broker.client(), "t", COUNT)
    broker.cluster.offsets_topic.create(0)
    broker.loop.wait(50)
    return broker


def commit(count: int) -> bytes:
    topics = to_commit("t", {n: n for n in range(count)})
    return frame("offset_commit", 8, 1, group_id="g", member_id="", generation_id_or_member_epoch=-1, topics=topics)


def delete(count: int) -> bytes:
    parts = tuple(OffsetDeleteRequestPartition(partition_index=n) for n in range(count))
    return frame("offset_delete", 0, 1, group_id="g", topics=(OffsetDeleteRequestTopic(name="t", partitions=parts),))


def produce(count: int) -> bytes:
    parts = tuple(PartitionProduceData(index=n, records=batch(b"v")) for n in range(count))
    topics = (TopicProduceData(name="t", partition_data=parts),)
    return frame("produce", 9, 1, acks=-1, timeout_ms=1_000, topic_data=topics)


def unreadable(data: bytes) -> bytes:
    """Return the request without its last byte."""
    return (len(data) - 5).to_bytes(4, "big") + data[4:-1]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(commit(COUNT), id="commit in parts"),
        pytest.param(delete(COUNT), id="delete in parts"),
        pytest.param(produce(COUNT), id="produce in parts"),
        pytest.param(commit(MANY), id="commit read in a thread"),
        pytest.param(unreadable(commit(MANY)), id="found unreadable in a thread"),
        pytest.param(unreadable(commit(1)), id="unreadable"),
    ],
)
@pytest.mark.parametrize("stays", [True, False])
def test_request_leaves_no_garbage(broker: Broker, data: bytes, stays: bool) -> None:
    thread = Thread(broker)

    def asks() -> None:
        client = broker.client()
        client.says(data)
        broker.loop.run_soon()
        if not stays:
            hangs_up(client)
        for _ in range(2):
            thread.works()
            while broker.loop.run_soon():
                pass
        if stays:
            assert client.closed or len(client.heard()) == 1
            hangs_up(client)

    asks()  # objects created at first use do not count
    assert garbage_of(asks) == Counter()


def hangs_up(client: Client) -> None:
    client.connection.connection_lost(None)


@pytest.fixture
def collector() -> Iterator[None]:
    """Gives the collector back as it was, but for what is frozen: the whole run's tests are, and stay so."""
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks[:] = callbacks


@pytest.mark.usefixtures("collector")
def test_late_modules_are_collected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    collect_garbage_seldom()
    at_start = gc.get_freeze_count()
    made = [[number] for number in range(1_000)]
    gc.collect(1)
    assert gc.get_freeze_count() < at_start + len(made)
    monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
    gc.collect(1)
    assert gc.get_freeze_count() > at_start + len(made)
