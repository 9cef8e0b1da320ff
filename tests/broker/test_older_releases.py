"""Stand-in for an older release of Kafka: which versions are served, and what its coordinator did otherwise."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from kohort.broker.settings.broker_settings import Settings
from kohort.coordinator.offsets.offsets_topic_records import read_offset_value
from kohort.protocol.api_keys import APIS
from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import CURRENT, RELEASES, apis_of
from kohort.whatif.clients.classic_group_member import ClassicMember
from kohort.whatif.clients.group_member import to_commit
from tests.support.batches import contents
from tests.support.broker import Broker
from tests.support.frames import frame

RECORDED: dict[str, str] = json.loads((Path(__file__).parent / "api_versions_of_releases.json").read_text())
"""The answers of real brokers to ApiVersions v0, without their length."""
OLD = [release for release in RELEASES if release not in ("4.3", CURRENT)]


def recorded(release: str) -> dict[int, tuple[int, int]]:
    """Return lowest and highest version by API, recorded from a broker of that release."""
    (frame,) = (bytes.fromhex(frame) for version, frame in RECORDED.items() if version.startswith(f"{release}."))
    _, error, count = struct.unpack_from(">ihi", frame)
    assert error == 0
    rows = [struct.unpack_from(">hhh", frame, 10 + 6 * number) for number in range(count)]
    return {key: (lowest, highest) for key, lowest, highest in rows}


def served(broker: Broker) -> dict[int, tuple[int, int]]:
    answer = broker.client().asks("api_versions")
    assert answer.error_code is ErrorCode.none
    return {api_key.api_key: (api_key.min_version, api_key.max_version) for api_key in answer.api_keys}


@pytest.mark.parametrize("release", OLD)
def test_common_versions_are_served(release: str) -> None:
    theirs = recorded(release)
    for spec in apis_of(release):
        lowest, highest = theirs[spec.key]
        assert lowest <= spec.min_version <= spec.max_version <= highest, spec.name
    # What is missing neither of the two has in a version of the other.
    named = {spec.key for spec in apis_of(release)}
    for spec in APIS:
        if spec.key not in named and spec.key in theirs:
            lowest, highest = theirs[spec.key]
            assert highest < max(spec.min_version, spec.readable_from) or lowest > spec.max_version, spec.name
    assert served(Broker(kohort_as_kafka=release)) == {
        spec.key: (spec.min_version, spec.max_version) for spec in apis_of(release)
    }


def test_every_api_has_its_line() -> None:
    for release in OLD:
        assert {spec.key for spec in APIS} & recorded(release).keys() >= {spec.key for spec in apis_of(release)}
    assert {spec.key for spec in APIS} - {spec.key for release in RELEASES for spec in apis_of(release)} == set()


def test_unknown_version_closes_connection() -> None:
    client = Broker(kohort_as_kafka="2.8").client()
    client.says(frame("list_groups", 5))
    assert client.closed


def test_unknown_api_closes_connection() -> None:
    client = Broker(kohort_as_kafka="2.8").client()
    client.says(frame("describe_topic_partitions", topics=(), response_partition_limit=1))
    assert client.closed


def test_newer_client_negotiates_down() -> None:
    # Kafka 1.1.1 returns UNSUPPORTED_VERSION without a range; from 2.4 the range is included (KIP-511)
    said = frame("api_versions", 4, 77, client_software_name="x", client_software_version="1")
    client = Broker(kohort_as_kafka="1.1").client()
    client.says(said)
    assert client.heard() == [bytes.fromhex("0000004d002300000000")]
    client = Broker(kohort_as_kafka="2.8").client()
    client.says(said)
    ((_, answer),) = client.hears("api_versions")
    assert answer.error_code is ErrorCode.unsupported_version
    assert [(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in answer.api_keys] == [(18, 0, 3)]


def test_features_came_later() -> None:
    old, new = Broker(kohort_as_kafka="3.9"), Broker()
    about = {"client_software_name": "x", "client_software_version": "1"}
    assert old.client().asks("api_versions", 3, **about).finalized_features == ()
    assert new.client().asks("api_versions", 3, **about).finalized_features != ()


def test_release_defaults_can_be_overridden() -> None:
    old = Settings({"kohort.as.kafka": "1.1"})
    assert (old.group_max_session_timeout_ms, old.offsets_retention_minutes) == (300_000, 1_440)
    assert Settings({"kohort.as.kafka": "2.4"}).group_max_session_timeout_ms == 1_800_000
    given = {"kohort.as.kafka": "1.1", "group.max.session.timeout.ms": "7000"}
    assert Settings(given).group_max_session_timeout_ms == 7_000
    assert "consumer" not in Settings({"kohort.as.kafka": "3.9"}).group_coordinator_rebalance_protocols


def test_release_3_9_enables_consumer_groups() -> None:
    asked = {"group_id": "g", "member_id": "", "member_epoch": 0, "rebalance_timeout_ms": 1_000}
    broker = Broker(kohort_as_kafka="3.9")
    answer = broker.client().asks("consumer_group_heartbeat", 0, **asked)
    assert answer.error_code is ErrorCode.unsupported_version


@pytest.mark.parametrize(
    ("release", "heard"),
    [
        ("1.1", ErrorCode.rebalance_in_progress),
        ("2.4", ErrorCode.rebalance_in_progress),
        ("2.8", ErrorCode.none),
        ("3.4", ErrorCode.none),
        ("3.9", ErrorCode.none),
    ],
)
def test_heartbeat_between_join_and_sync(release: str, heard: ErrorCode) -> None:
    # observed on brokers of these releases
    broker = Broker(kohort_as_kafka=release, group_initial_rebalance_delay_ms=0)
    broker.cluster.offsets_topic.create(0)
    client = broker.client()
    member = ClassicMember("ada")
    join = member.join()
    client.says(frame(join.api, 1, 1, **join.fields))
    broker.loop.wait(1)
    ((_, joined),) = client.hears("join_group", 1)
    join.hear(joined)
    assert client.asks("heartbeat", 0, **member.beat().fields).error_code is heard


@pytest.mark.parametrize(("release", "version"), [("1.1", 1), ("2.4", 3), ("3.9", 3), (CURRENT, 4)])
def test_offset_records_have_old_version(release: str, version: int) -> None:
    broker = Broker(kohort_as_kafka=release)
    broker.cluster.offsets_topic.create(0)
    client = broker.client()
    broker.cluster.topics.create("topic", 1, 1)
    for offset, note in ((1, ""), (2, ""), (3, ""), (4, "note")):
        client.asks("offset_commit", 2, group_id="g", member_id="", topics=to_commit("topic", {0: offset}, note))
    offsets = broker.cluster.topics.by_name("__consumer_offsets")
    assert offsets is not None
    kept = [
        value
        for partition in offsets.partitions
        for _, key, value in contents(partition.log.read(0, 1 << 20))
        if key is not None and value is not None and key[:2] == b"\0\1"
    ]
    assert [int.from_bytes(value[:2], "big") for value in kept] == [version] * 4
    read = [read_offset_value(value) for value in kept]
    assert [(each.offset, each.metadata) for each in read] == [(1, ""), (2, ""), (3, ""), (4, "note")]
    assert all((each.expire_timestamp_ms > 0) is (version == 1) for each in read)
