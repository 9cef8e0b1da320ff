"""What share coordinators keep, read as the broker writes it: from segment files, over the wire, and while it grows."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import ShareState, StateUpdate
from kohort.coordinator.share_state.share_state_records import snapshot_value, state_key, update_value
from kohort.coordinator.share_state.state_batches import NO_BATCHES, StateBatch, StateBatches
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.job.following_shares import ASKED_EVERY_S, FollowedShares
from kohort.pipeline.records.topic_ids import kafka_uuid
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import expand, ingest, sample
from kohort.pipeline.sources.found import SHARE_SEGMENT, SHARE_WIRE, WIRE, Source, find_sources
from kohort.pipeline.sources.window import Window
from kohort.protocol.batches import Record, build_batch
from kohort.protocol.records.layouts import SHARE_SNAPSHOT, SHARE_UPDATE
from kohort.testing import Cluster
from tests.pipeline.local_groups import load_groups, silver_table

STATE_TOPIC, OFFSETS_TOPIC = "__share_group_state", "__consumer_offsets"
TOPIC_ID = UUID(int=7)
KEY = SharePartitionKey("workers", TOPIC_ID, 2)
AT_MS = 1_760_000_000_000


def records() -> list[Record]:
    """Return a partition from its first record on: two ranges are processed, one was released and archived."""
    first = ShareState(0, 1, 0, 0, 0, NO_BATCHES, AT_MS, AT_MS)
    news = [
        StateUpdate(0, 0, -1, 3, StateBatches.of([StateBatch(0, 1, 2, 1), StateBatch(2, 2, 0, 1)])),
        StateUpdate(0, 0, 2, 1, StateBatches.of([StateBatch(2, 2, 4, 2)])),
    ]
    written = [Record(state_key(SHARE_SNAPSHOT, KEY), at_once(snapshot_value(first, Pace())), AT_MS)]
    return written + [
        Record(state_key(SHARE_UPDATE, KEY), at_once(update_value(each, Pace())), AT_MS + 1000 * n)
        for n, each in enumerate(news, 1)
    ]


def segment(folder: Path, *batches: list[Record], topic: str = STATE_TOPIC) -> Path:
    place = folder / f"{topic}-3" / f"{0:020}.log"
    place.parent.mkdir(parents=True)
    data, offset = b"", 0
    for batch in batches:
        data += offset.to_bytes(8, "big") + build_batch(batch)[8:]
        offset += len(batch)
    place.write_bytes(data)
    return place


def silver_of(tmp_path: Path, sources: list[Source], window: Window = Window()) -> Path:  # noqa: B008 - it is frozen
    silver = tmp_path / "silver"
    with Writer(silver, "0") as writer:
        ingest(sources, "", writer, window)
    publish(silver, "0", [writer.task])
    return silver


def test_broker_records_are_read(tmp_path: Path) -> None:
    segment(tmp_path / "data", records())
    (source,), issues = find_sources([str(tmp_path / "data")])
    assert ((source.kind, source.partition), issues) == ((SHARE_SEGMENT, 3), [])
    group = load_groups(silver_of(tmp_path, [source]))["workers"]
    snapshot, update, last = group.share_states
    assert (snapshot.is_snapshot, snapshot.snapshot_epoch, snapshot.state_epoch, snapshot.start_offset) == (
        True,
        0,
        1,
        0,
    )
    assert (snapshot.created_ms, snapshot.topic_id, snapshot.part) == (AT_MS, kafka_uuid(TOPIC_ID.bytes), 2)
    assert (update.is_snapshot, update.state_epoch, update.start_offset, update.complete) == (False, None, None, 3)
    columns = update.first_offsets, update.last_offsets, update.states, update.delivery_counts
    assert columns == ([0, 2], [1, 2], [2, 0], [1, 1])
    assert (last.start_offset, last.ts_ms) == (2, AT_MS + 2000)
    share = analyse(group).share
    assert share is not None
    assert share.accepted_between(0, AT_MS + 5000) == 2
    assert [(each.first, each.last, each.count, each.at_limit) for each in share.given_up] == [(2, 2, 2, False)]


def test_deleted_partition_starts_again(tmp_path: Path) -> None:
    segment(tmp_path / "data", records(), [Record(state_key(SHARE_SNAPSHOT, KEY), None, AT_MS + 3000)], records())
    sources, _ = find_sources([str(tmp_path / "data")])
    share = analyse(load_groups(silver_of(tmp_path, sources))["workers"]).share
    assert share is not None
    assert share.accepted_between(0, AT_MS + 5000) == 4
    assert [each.first for each in share.given_up] == [2, 2]


def test_snapshot_repeats_known_state(tmp_path: Path) -> None:
    merged = ShareState(1, 1, 0, 0, 3, StateBatches.of([StateBatch(0, 1, 2, 1), StateBatch(2, 2, 0, 1)]), AT_MS, AT_MS)
    *before, last = records()
    segment(
        tmp_path / "data",
        [*before, Record(state_key(SHARE_SNAPSHOT, KEY), at_once(snapshot_value(merged, Pace())), AT_MS + 1500), last],
    )
    sources, _ = find_sources([str(tmp_path / "data")])
    share = analyse(load_groups(silver_of(tmp_path, sources))["workers"]).share
    assert share is not None
    assert share.accepted_between(0, AT_MS + 5000) == 2
    (states,) = share.states.values()
    assert [(came.count, number) for came, number in states.returns] == [(1, 1)]


def test_initial_snapshot_time_is_unknown(tmp_path: Path) -> None:
    begins = ShareState(8, 1, 0, 0, 3, StateBatches.of([StateBatch(0, 1, 2, 1), StateBatch(2, 2, 4, 5)]), AT_MS, AT_MS)
    segment(tmp_path / "data", [Record(state_key(SHARE_SNAPSHOT, KEY), at_once(snapshot_value(begins, Pace())), AT_MS)])
    sources, _ = find_sources([str(tmp_path / "data")])
    share = analyse(load_groups(silver_of(tmp_path, sources))["workers"]).share
    assert share is not None
    assert (share.accepted_between(0, AT_MS), share.given_up, share.seen_from_ms) == (0, [], AT_MS)


def test_unknown_record_is_kept(tmp_path: Path) -> None:
    odd = [Record(b"\x00\x09junk", b"", AT_MS), Record(state_key(SHARE_UPDATE, KEY), b"\x00\x00\x00", AT_MS)]
    segment(tmp_path / "data", [*odd, *records()])
    sources, _ = find_sources([str(tmp_path / "data")])
    silver = silver_of(tmp_path, sources)
    table = silver_table(silver, "decode_errors")
    assert table is not None
    assert sorted(table["error"].to_pylist()) == [
        f"{STATE_TOPIC}: ends inside an int32", f"{STATE_TOPIC}: record type 9 is not known"
    ]  # fmt: skip
    assert len(load_groups(silver)["workers"].share_states) == 3


def test_window_excludes_later_and_other_groups(tmp_path: Path) -> None:
    segment(tmp_path / "data", records())
    sources, _ = find_sources([str(tmp_path / "data")])
    window = Window(since_ms=AT_MS + 1500, until_ms=AT_MS + 1999)
    group = load_groups(silver_of(tmp_path, sources, window))["workers"]
    assert [record.ts_ms for record in group.share_states] == [AT_MS, AT_MS + 1000], "it has the state at that time"
    others = silver_of(tmp_path / "others", sources, Window(groups=("orders-*",)))
    assert load_groups(others) == {}


def test_console_formatter_output_is_rejected(tmp_path: Path) -> None:
    line = {"key": {"type": 1, "data": {"groupId": "g"}}, "value": {"version": 0, "data": {"startOffset": 1}}}
    place = tmp_path / "states.json"
    place.write_text(json.dumps(line) + "\n")
    sources, issues = find_sources([str(place)])
    silver = silver_of(tmp_path, sources)
    assert load_groups(silver) == {}
    assert issues or silver_table(silver, "dq_issues") is not None


def test_running_cluster_is_followed(tmp_path: Path) -> None:
    with Cluster(nodes=1) as kafka:
        commit = Record(b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00", None, AT_MS)
        kafka.topics.append_batch(OFFSETS_TOPIC, build_batch([commit]))
        sources, issues = expand([Source(WIRE, kafka.bootstrap)])
        assert ([source.kind for source in sources], issues) == ([WIRE], []), "the topic does not exist yet"
        clock = [0.0]
        followed = FollowedShares(Source(WIRE, kafka.bootstrap), "", lambda: clock[0])
        assert not followed.grew()
        kafka.topics.create(STATE_TOPIC, 2)
        *first, last = records()
        kafka.topics.append_batch(STATE_TOPIC, build_batch(first), partition=1)
        assert not followed.grew(), "the interval has not passed"
        clock[0] += ASKED_EVERY_S
        assert followed.grew()
        sources, issues = expand([Source(WIRE, kafka.bootstrap)])
        assert [(source.kind, source.partition, source.size) for source in sources] == [
            (WIRE, 0, 1),
            (SHARE_WIRE, 1, 2),
        ]
        assert issues == []
        group = load_groups(silver_of(tmp_path, sources))["workers"]
        assert len(group.share_states) == 2
        for number, expected in ((1, 2), (2, 2), (3, 3)):
            with Writer(tmp_path / "followed", f"sample-{number}") as writer:
                followed.read(writer)
            publish(tmp_path / "followed", f"sample-{number}", [writer.task])
            assert len(load_groups(tmp_path / "followed")["workers"].share_states) == expected, number
            if number == 2:
                assert not followed.grew()
                kafka.topics.append_batch(STATE_TOPIC, build_batch([last]), partition=1)
                clock[0] += ASKED_EVERY_S
                assert followed.grew()


def test_share_groups_without_api_are_reported(tmp_path: Path) -> None:
    with Writer(tmp_path, "0") as writer:
        sample([Source(WIRE, "127.0.0.1:1")], "", writer)
        FollowedShares(Source(WIRE, "127.0.0.1:1"), "").read(writer)
    publish(tmp_path, "0", [writer.task])
    table = silver_table(tmp_path, "dq_issues")
    assert table is not None
    assert {issue["rule"] for issue in table.to_pylist()} == {"cluster_gone"}
    assert sum("share groups" in issue["detail"] for issue in table.to_pylist()) == 2
