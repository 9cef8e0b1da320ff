"""Text that a person may hand over: broker logs, event logs, exports, samples; and telling them apart."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kohort.coordinator.offsets.offsets_topic_records import expiring_offset_value, offset_key
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.event_lines import event_of, read_event_log
from kohort.pipeline.sources.export import read_dump, read_export
from kohort.pipeline.sources.found import END_OFFSETS, EVENTS, EXPORT, TEXT_LOG, WIRE, find_sources
from kohort.pipeline.sources.reasons import cause_of
from kohort.pipeline.sources.samples import read_end_offsets
from kohort.pipeline.sources.source_rows import GroupEvent, LogEndSample
from kohort.pipeline.sources.text_log import read_text_log

A = "c-1-71478f57-e382-43cf-81a9-3f338ceedade"
NEW = "[2026-11-20 22:17:43,630] INFO [GroupCoordinator id=2 topic=__consumer_offsets partition=44] {} (org.apache.kafka.X)"
OLD = "[2023-01-01 00:00:00,001] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"


def told(tmp_path: Path, *lines: str) -> list[GroupEvent]:
    path = tmp_path / "server.log"
    path.write_text("\n".join(lines) + "\n")
    return [event for event in read_text_log(path) if isinstance(event, GroupEvent)]


def test_new_coordinator_rebalance_lines(tmp_path: Path) -> None:
    started, evicted, joined, assigned, left = told(
        tmp_path,
        NEW.format(
            "Preparing to rebalance group g (x) in state PreparingRebalance with old generation 1 (reason: Adding new "
            f"member {A} with group instance id null; client reason: need to re-join with the given member-id: {A})."
        ),
        NEW.format(f"Group g (x) removed dynamic members who haven't joined: [{A}]"),
        NEW.format("Stabilized group g (x) generation 2 with 3 members."),
        NEW.format(
            f"Assignment received from leader {A} for group g (x) for generation 2. The group has 3 members, 0 of"
        ),
        NEW.format(
            f"[Group g (x)] Member {A} has left group through explicit `LeaveGroup` request; client reason: consumer poll "
            "timeout has expired."
        ),
        "noise",
    )
    assert (started.kind, started.cause, started.generation) == ("rebalance_started", "join_new", 1)
    assert (started.member_id, started.client_id, started.co_partition) == (A, "c-1", 44)
    assert started.group_id == "g (x)"
    assert started.ts == 1795213063630
    assert evicted.evicted == [A]
    assert (joined.kind, joined.generation, joined.members) == ("join_completed", 2, 3)
    assert (assigned.kind, assigned.member_id) == ("assignment_received", A)
    assert (left.kind, left.cause) == ("member_removed", "leave_poll_timeout")


STABLE = "Stabilized group g generation 2 with 3 members."
MS = 1795213063630


@pytest.mark.parametrize(
    ("name", "line", "ts_ms"),
    [
        ("Kafka's own", NEW.format(STABLE), MS),
        ("docker compose", "kafka-1  | " + NEW.format(STABLE), MS),
        ("kubectl --prefix", "[pod/kafka-0/kafka] " + NEW.format(STABLE), MS),
        ("journald", "Nov 20 22:17:43 host kafka-server-start.sh[812]: " + NEW.format(STABLE), MS),
        ("Strimzi", f"2026-11-20 22:17:43,630 INFO [GroupCoordinator id=2 topic=__consumer_offsets partition=44] {STABLE} "
         "(org.apache.kafka.X) [group-coordinator-event-processor-0]", MS),
        ("ISO time", f"2026-11-21T00:17:43.630+02:00 INFO [GroupCoordinator id=2] {STABLE} (org.apache.kafka.X)", MS),
        ("ISO time, UTC", f"2026-11-20T22:17:43.630Z INFO [GroupCoordinator id=2] {STABLE}", MS),
        ("kubectl --timestamps includes the zone", "2026-11-20T20:17:43.631456789Z " + NEW.format(STABLE), MS - 7_200_000),
        ("a container's log", "2026-11-20T22:17:43.63Z stdout F " + NEW.format(STABLE), MS),
        ("no milliseconds", f"2026-11-20 22:17:43 INFO  [main] GroupMetadataManager:12 - [GroupCoordinator id=2] {STABLE}",
         MS - 630),
        ("docker's file", json.dumps({"log": NEW.format(STABLE) + "\n", "stream": "stdout",
         "time": "2026-11-20T22:17:43.631Z"}), MS),
        ("log4j's JsonLayout", json.dumps({"instant": {"epochSecond": MS // 1000, "nanoOfSecond": 630_000_000},
         "level": "INFO", "loggerName": "org.apache.kafka.X", "message": f"[GroupCoordinator id=2] {STABLE}"}), MS),
        ("Elastic's layout", json.dumps({"@timestamp": "2026-11-20T22:17:43.630Z", "log.level": "INFO",
         "message": f"[GroupCoordinator id=2] {STABLE}"}), MS),
    ],
)  # fmt: skip
def test_whatever_a_line_was_wrapped_in(tmp_path: Path, name: str, line: str, ts_ms: int) -> None:
    (event,) = told(tmp_path, line)
    assert (event.kind, event.group_id, event.generation, event.members) == ("join_completed", "g", 2, 3)
    assert (event.ts, event.node_id) == (ts_ms, 2)


DENIED = (
    "[2026-11-20 22:17:43,630] INFO Principal = User:alice is Denied operation = READ from host = 127.0.0.1 on resource = "
    "{} for request = JoinGroup with resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)"
)


def test_authorizer_log_lines(tmp_path: Path) -> None:
    group, topic = told(
        tmp_path, DENIED.format("Group:LITERAL:a:b"), DENIED.format("Topic:LITERAL:t"), DENIED.format("t")
    )
    assert (group.kind, group.group_id, group.ts, group.client_host) == ("access_denied", "a:b", MS, "/127.0.0.1")
    assert group.detail == {
        "principal": "User:alice",
        "operation": "READ",
        "resource": "GROUP:a:b",
        "api": "JoinGroup",
        "rule": "DefaultDeny",
        "n": "1",
    }
    assert (topic.group_id, (topic.detail or {})["resource"]) == (None, "TOPIC:t")


def test_broker_log_with_late_group_line(tmp_path: Path) -> None:
    start = "[2026-11-20 22:17:43,630] INFO [KafkaServer id=2] starting (kafka.server.KafkaServer)"
    late = [start] * 2_000 + [NEW.format(STABLE)]
    (tmp_path / "server.log").write_text("\n".join(late))
    (tmp_path / "server.log.2026-11-20-21").write_bytes(gzip.compress("\n".join(late).encode()))
    (tmp_path / "controller.log").write_text("\n".join([start] * 2_000))
    found, issues = find_sources([str(tmp_path)])
    assert not issues
    assert [(source.kind, Path(source.path).name) for source in found] == [
        (TEXT_LOG, "server.log"),
        (TEXT_LOG, "server.log.2026-11-20-21"),
    ]
    for source in found:
        (event,) = read_text_log(Path(source.path))
        assert isinstance(event, GroupEvent)
    (named,), issues = find_sources([str(tmp_path / "controller.log")])
    assert (named.kind, issues) == (TEXT_LOG, []), "the user has named it, so missing parts are reported"


def test_old_coordinator_log_names_partition(tmp_path: Path) -> None:
    started, joined = told(
        tmp_path,
        OLD.format(
            "Preparing to rebalance group orders in state PreparingRebalance with old generation 7 (__consumer_offsets-31) "
            f"(reason: removing member {A} on heartbeat expiration)"
        ),
        OLD.format("Stabilized group orders generation 8 (__consumer_offsets-31) with 2 members"),
    )
    assert (started.cause, started.generation, started.co_partition) == ("session_expired", 7, 31)
    assert (joined.generation, joined.members, joined.co_partition) == (8, 2, 31)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Leader m re-joining group during Stable; client reason: cached metadata has changed", "rejoin_leader"),
        ("Updating metadata for member m during Stable; client reason: need to revoke partitions and re-join",
         "cooperative_followup"),
        ("Updating metadata for member m during Stable; client reason: not provided", "metadata_changed"),
        ("removing m on pending sync request expiration", "sync_timeout"),
        ("Adding new member m with group instance id None; client reason: not provided", "join_new"),
        ("Adding new member m with group instance id Some(pod-1)", "join_static"),
        ("Adding new member m with group instance id null; client reason: not provided", "join_new"),
        ("Adding new member m with group instance id pod-1; client reason: not provided", "join_static"),
        ("something that a later Kafka logs", "unknown"),
    ],
)  # fmt: skip
def test_reasons(reason: str, cause: str) -> None:
    assert cause_of(reason) == cause


def event(seq: int, **more: object) -> dict[str, object]:
    return {"v": 1, "event_id": f"1-a-{seq}", "seq": seq, "boot_id": "a", "node_id": 1, "ts": seq, "kind": "x"} | more


def test_event_logs_with_junk(tmp_path: Path) -> None:
    path = tmp_path / "group-events-1-a-0.jsonl"
    lines = [json.dumps(event(n, new_column=1)) for n in (1, 2, 2, 5)]
    path.write_text("\n".join([*lines, "{", '{"ts": 1}', "null"]) + "\n")
    found = list(read_event_log(path))
    assert len([row for row in found if isinstance(row, Issue)]) == 3
    assert [row.seq for row in found if isinstance(row, GroupEvent)] == [1, 2, 2, 5]


def test_events_keep_their_types() -> None:
    row = event_of(event(1, members="3", evicted=["m"], detail={"n": 4}))
    assert (row.members, row.evicted, row.detail, row.cause) == (3, ["m"], {"n": "4"}, None)


def test_exports_in_both_forms(tmp_path: Path) -> None:
    key = base64.b64encode(b"\0\2\0\1g").decode()
    row = {"partition": 3, "offset": 9, "timestamp": 5, "key": key, "value": None}
    lines, table = tmp_path / "copy.jsonl", tmp_path / "copy.csv"
    lines.write_text(json.dumps(row) + "\n" + json.dumps(row | {"key": "%%"}) + "\nnot json\n")
    table.write_text(f"partition,offset,timestamp,key,value\n3,9,5,{key},\n")
    for path, bad in ((lines, 2), (table, 0)):
        (chunk,) = read_export(path)
        assert (chunk.partition.tolist(), chunk.offset.tolist(), chunk.spans.key(0)) == ([3], [9], b"\0\2\0\1g")
        assert len(chunk.issues) == bad


def kcats(data: bytes) -> bytes:
    """Format records like kcat, with escapes only where needed."""
    return b'"' + b"".join(b"\\u%04x" % each if each < 32 or each in b'"\\' else bytes([each]) for each in data) + b'"'


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "kcat": kcats,
    "kohort consume": lambda data: json.dumps({"base64": base64.b64encode(data).decode()}).encode(),
    "bytes as characters of their numbers": lambda data: json.dumps(data.decode("latin-1")).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_kcat_are_an_export(form: str, tmp_path: Path) -> None:
    key = offset_key("caf\u00e9", "t", 3)
    value = expiring_offset_value(200, "n\u00f6te", 1_709_632_808_500, 1_709_632_908_500)
    rest = b'"topic":"__consumer_offsets","partition":12,"offset":%d,"tstype":"create","ts":1709632808500,"broker":1'
    path = tmp_path / "copy.jsonl"
    path.write_bytes(
        b'{%b,"key":%b,"payload":%b}\n' % (rest % 7, FORMS[form](key), FORMS[form](value))
        + b'{%b,"key":%b,"payload":null}\n' % (rest % 8, FORMS[form](key))
    )
    (source,), issues = find_sources([str(path)])
    assert (source.kind, issues) == (EXPORT, [])
    (chunk,) = read_export(path)
    assert chunk.issues == []
    assert (chunk.partition.tolist(), chunk.offset.tolist()) == ([12, 12], [7, 8])
    assert [chunk.spans.key(number) for number in range(2)] == [key, key]
    assert [chunk.spans.value(number) for number in range(2)] == [value, None]


def test_export_ignores_other_topics(tmp_path: Path) -> None:
    row = {"topic": "orders", "partition": 0, "offset": 0, "ts": 1, "key": "k", "payload": "v"}
    path = tmp_path / "copy.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert find_sources([str(path)])[0] == []
    path.write_text(json.dumps(row | {"topic": "__consumer_offsets", "key": None}) + "\n" + json.dumps(row) + "\n")
    (chunk,) = read_export(path)
    assert "a record of the topic orders" in chunk.issues[0].detail


def test_dump_tool_text(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(
        "Dumping __consumer_offsets-5/00000000000000000000.log\nLog starting offset: 0\n"
        "baseOffset: 3 lastOffset: 3 count: 1 baseSequence: 0 lastSequence: 0 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 4 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0\n"
        '| offset: 3 CreateTime: 77 keySize: 1 valueSize: 1 sequence: 0 headerKeys: [] key: {"type":"1","data":'
        '{"group":"g","topic":"t","partition":1}} payload: {"version":"4","data":{"offset":53,"leaderEpoch":0,'
        '"metadata":"","commitTimestamp":77,"topicId":"gFBUqfOWSmOISLn6ZNpN0Q"}}\n'
        '| offset: 4 CreateTime: 78 keySize: 1 valueSize: -1 sequence: 0 headerKeys: [] key: {"type":"2","data":'
        '{"group":"g"}} payload: <DELETE>\n| what is this\n'
    )
    (chunk,) = read_dump(path)
    assert chunk.offset.tolist() == [3, 4]
    assert chunk.leader_epoch.tolist() == [4, 4]
    assert chunk.spans.value(1) is None
    assert [issue.rule for issue in chunk.issues] == ["unreadable_line"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g::GroupMetadata(groupId=g, generation=1, protocolType=Some(consumer))", "prints no times"),
        ("\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG", "at one moment"),
        ("\nGROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE", "at one moment"),
        (
            "2026-03-05 10:00:00 INFO ConsumerCoordinator - [Consumer clientId=c-1, groupId=g] (Re-)joining group",
            "a client's log",
        ),
        ('%7|1709632808.500|CGRPJOIN|c-1#consumer-1| [thrd:main]: Group "g": join', "a client's log"),
        ("INFO:aiokafka.consumer.group_coordinator:Joined group 'g' (generation 1)", "a client's log"),
        ("INFO:kafka.coordinator.consumer:Revoking previously assigned partitions", "a client's log"),
        ("Dear diary", "unknown type of file"),
    ],
)
def test_incomplete_source_names_missing_fields(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "given.txt"
    path.write_text(text + "\n")
    found, issues = find_sources([str(path)])
    assert found == []
    (issue,) = issues
    assert words in issue.detail


def test_source_types_are_recognized(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n" + NEW.format("Stabilized group g generation 1 with 1 members.") + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps(event(1)) + "\n")
    (tmp_path / "c.jsonl").write_text('{"sampled_ms": 1, "topic": "t", "log_end": {"0": 5}}\n')
    (tmp_path / "d.jsonl").write_text('{"partition": 1, "offset": 1, "key": null, "value": null}\n')
    (tmp_path / "readme.txt").write_text("hello\n")
    (tmp_path / "empty").write_text("")
    found, issues = find_sources([str(tmp_path), "broker:9092"])
    assert {Path(s.path).name: s.kind for s in found} == {
        "a.log": TEXT_LOG, "b.jsonl": EVENTS, "c.jsonl": END_OFFSETS, "d.jsonl": EXPORT, "broker:9092": WIRE,
    }  # fmt: skip
    assert issues == []


def test_unusable_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hello\n")
    found, issues = find_sources([str(tmp_path), str(tmp_path / "readme.txt"), str(tmp_path / "gone")])
    assert found == []
    assert [issue.rule for issue in issues] == ["no_source"] * 3


def test_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = NEW.format("Stabilized group g generation 1 with 1 members.") + "\n"
    for name in ("a.log", "b.txt"):
        (tmp_path / name).write_text(line)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "c.txt").write_text(line)
    open_path, scan = Path.open, os.scandir

    def closed(path: Path, *rest: Any, **named: Any) -> Any:
        if path.name == "a.log":
            raise PermissionError(13, "Permission denied", str(path))
        return open_path(path, *rest, **named)

    def no_entry(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(Path, "open", closed)
    monkeypatch.setattr(os, "scandir", no_entry)
    for arguments in ([str(tmp_path / "a.log"), str(tmp_path / "b.txt"), str(tmp_path / "closed")], [str(tmp_path)]):
        found, issues = find_sources(arguments)
        assert [Path(source.path).name for source in found] == ["b.txt"]
        assert {(issue.rule, Path(issue.keys).name) for issue in issues if "Permission denied" in issue.detail} == {
            ("unreadable_file", "a.log"),
            ("unreadable_file", "closed"),
        }


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "is empty"),
        ("broker:99999", "out of range"),
        ("/dev/null", "neither a file nor a directory"),
        ("broker-1", "broker-1:9092"),
    ],
)
def test_suggestion_for_unknown_source(argument: str, words: str) -> None:
    found, (issue,) = find_sources([argument])
    assert found == []
    assert words in issue.detail


def test_moved_segments_are_recognized_by_name(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(bytes(8) + b"\0\0\0\x40" + bytes(4) + b"\2" + bytes(60))
    found, (issue,) = find_sources([str(tmp_path)])
    assert found == []
    assert "__consumer_offsets-" in issue.detail


def test_source_without_rows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(NEW.format("An unknown line.") + "\n")
    with Writer(tmp_path / "silver", "0") as writer:
        ingest(find_sources([str(path)])[0], "", writer)
    assert "events" not in writer.rows
    publish(tmp_path / "silver", "0", [writer.task])
    (row,) = pq.read_table(tmp_path / "silver" / "dq_issues").to_pylist()
    assert (row["rule"], row["keys"]) == ("nothing_read", str(path))
    assert "for example: [2026-11-20 22:17:43,630] INFO [GroupCoordinator id=2" in row["detail"]


def test_cut_compressed_file_is_read_partly(tmp_path: Path) -> None:
    log, samples, export = tmp_path / "a.log.gz", tmp_path / "b.jsonl.gz", tmp_path / "c.jsonl.gz"
    log.write_bytes(cut(*(NEW.format(f"Stabilized group g generation {n} with 1 members.") for n in range(2000))))
    samples.write_bytes(
        cut(*(f'{{"sampled_ms": {n}, "topic": "t", "log_end": {{"0": {n * n}}}}}' for n in range(2000)))
    )
    export.write_bytes(
        cut(*(f'{{"partition": 1, "offset": {n}, "timestamp": {n}, "key": null, "value": null}}' for n in range(2000)))
    )
    for rows in ([*read_text_log(log)], [*read_end_offsets(samples)]):
        assert len(rows) > 500
        assert isinstance(rows[-1], Issue)
        assert "only: " in rows[-1].detail
    (chunk,) = read_export(export)
    assert len(chunk) > 500
    assert chunk.issues[-1].rule == "unreadable_file"


def cut(*lines: str) -> bytes:
    packed = gzip.compress("".join(line + "\n" for line in lines).encode())
    return packed[: len(packed) * 2 // 3]


def test_large_group_record_fits_csv(tmp_path: Path) -> None:
    value = base64.b64encode(bytes(300_000)).decode()
    path = tmp_path / "e.csv"
    path.write_text(f"partition,offset,timestamp,key,value\n1,2,3,,{value}\n")
    (chunk,) = read_export(path)
    assert chunk.offset.tolist() == [2]
    assert chunk.issues == []


def test_samples(tmp_path: Path) -> None:
    path = tmp_path / "ends.jsonl"
    path.write_text(
        '{"sampled_ms": 1, "topic": "t", "log_start": {"0": 2}, "log_end": {"0": 5, "1": 7}}\n{"topic": 1}\n'
    )
    first, second, issue = read_end_offsets(path)
    assert first == LogEndSample(topic="t", part=0, sampled_ms=1, log_start=2, log_end=5)
    assert second == LogEndSample(topic="t", part=1, sampled_ms=1, log_start=0, log_end=7)
    assert isinstance(issue, Issue)
