"""Records of classic groups in pieces, compared with the plain decoder and with handwritten rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.pipeline.records.classic_groups import ClassicGroup, GroupReader, plain_group
from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.sources.chunk import LogRow, chunk_of_rows
from kohort.protocol.consumer_protocol import (
    Assignment,
    ImpossibleLengthError,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from kohort.protocol.records.record_reader import decode
from kohort.protocol.records.record_writer import encode_key, encode_value
from kohort.protocol.records.schema import RecordError
from tests.support.effort import examples

KEY = encode_key(2, {"group": "g"})
NAMES = st.sampled_from(["", "a", "b", "c-1", "ü"])
PARTITIONS = st.dictionaries(NAMES, st.lists(st.integers(0, 5), max_size=3).map(tuple), max_size=2)
SUBSCRIPTIONS = st.builds(
    Subscription,
    version=st.integers(0, 3),
    topics=st.lists(NAMES, max_size=2).map(tuple),
    owned_partitions=PARTITIONS,
    generation_id=st.integers(-1, 4),
    rack_id=st.none() | NAMES,
).map(write_subscription)
ASSIGNMENTS = st.builds(Assignment, partitions=PARTITIONS).map(write_assignment)
JUNK = st.binary(max_size=6)
MEMBERS = st.fixed_dictionaries(
    {
        "memberId": NAMES,
        "groupInstanceId": st.none() | NAMES,
        "clientId": NAMES,
        "clientHost": st.sampled_from(["/10.0.0.1", "h"]),
        "rebalanceTimeout": st.sampled_from([-1, 300_000]),
        "sessionTimeout": st.sampled_from([6_000, 45_000]),
        "subscription": SUBSCRIPTIONS | JUNK,
        "assignment": ASSIGNMENTS | JUNK,
    }
)
GROUPS = st.fixed_dictionaries(
    {
        "protocolType": st.sampled_from(["consumer", "consumer", "consumer", "connect", ""]),
        "generation": st.integers(0, 9),
        "protocol": st.none() | NAMES,
        "leader": st.none() | NAMES,
        "currentStateTimestamp": st.sampled_from([-1, 1_000]),
        "members": st.lists(MEMBERS, max_size=4),
    }
)


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """Generate mostly valid values; some are cut, flipped, too long or mixed."""
    version = draw(st.integers(0, 4))
    value: dict[str, Any] = draw(GROUPS)
    if version <= 3 and draw(st.integers(0, 9)) == 0:
        for member in value["members"]:
            member["memberVersion"] = 0
        return encode_value(2, version, value, "redpanda")
    raw = encode_value(2, version, value)
    fate = draw(st.integers(0, 7))
    if fate == 0:
        return raw[: draw(st.integers(0, len(raw)))]
    if fate == 1:
        at = draw(st.integers(0, len(raw) - 1))
        return raw[:at] + bytes([draw(st.integers(0, 255))]) + raw[at + 1 :]
    if fate == 2:
        return raw + draw(st.binary(min_size=1, max_size=3))
    return raw


def plainly(value: bytes) -> ClassicGroup | None:
    try:
        found = decode(KEY, value)
    except RecordError:
        return None
    assert found.version is not None
    assert found.value is not None
    return plain_group(found.version, found.value)


@examples(3)
@given(st.lists(values(), max_size=6))
def test_fast_decoder_equals_plain_one(found: list[bytes]) -> None:
    reader = GroupReader()
    for value in found:
        group, plain = reader.read(value), plainly(value)
        if group is not None:
            assert group == plain
        elif plain is not None:  # only these are left to the plain decoder
            assert plain.version == 4 or decode(KEY, value).dialect == "redpanda"


def test_invalid_text_uses_plain_decoder() -> None:
    good = encode_value(2, 3, sound(1))
    assert GroupReader().read(good) is not None
    bad = good.replace(b"c-0", b"\xff-0")
    assert GroupReader().read(bad) is None
    with pytest.raises(RecordError, match="UTF-8"):
        decode(KEY, bad)


def sound(generation: int, members: int = 2) -> dict[str, Any]:
    return {
        "protocolType": "consumer", "generation": generation, "protocol": "range", "leader": "c-0",
        "currentStateTimestamp": 5,
        "members": [
            {"memberId": f"c-{n}", "groupInstanceId": None, "clientId": f"c-{n}", "clientHost": "/h",
             "rebalanceTimeout": 9, "sessionTimeout": 6, "subscription": write_subscription(Subscription(topics=("t",))),
             "assignment": write_assignment(Assignment(partitions={"t": (n,)}))}
            for n in range(members)
        ],
    }  # fmt: skip


def by_hand(value: bytes, offset: int) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of one record, as the columns are documented."""
    rows: dict[str, list[dict[str, Any]]] = {"group_members": [], "member_partitions": [], "decode_errors": []}
    group = plainly(value)
    if group is None:
        rows["decode_errors"].append({"offset": offset, "value": value})
        return rows
    for who, subscription, assignment in group.members:
        name = {
            "offset": offset,
            "group_id": "g",
            "member_id": who.member_id,
            "cluster": "k",
            "partition": 3,
            "rank": 1,
        }
        said, given_, consumer = None, None, group.head["protocolType"] == "consumer"
        if consumer:
            said, given_ = read_or_none(read_subscription, subscription), read_or_none(read_assignment, assignment)
            for blob, thing in ((subscription, said), (assignment, given_)):
                if blob and thing is None:
                    rows["decode_errors"].append({"offset": offset, "value": blob})
        rows["group_members"].append(
            {
                **name,
                "instance_id": who.instance_id,
                "client_id": who.client_id,
                "client_host": who.client_host,
                "session_timeout_ms": who.session_timeout,
                "rebalance_timeout_ms": who.session_timeout if who.rebalance_timeout < 0 else who.rebalance_timeout,
                "subscribed_topics": None if said is None else list(said.topics),
                "rack": None if said is None else said.rack_id or None,
                "owned_generation": None if said is None else said.generation_id,
                "subscription_version": None if said is None else said.version,
                "subscription_user_data_bytes": user_data_bytes(said),
                "assignment_user_data_bytes": user_data_bytes(given_),
                "is_leader": who.member_id == group.head["leader"],
                "speaks": "classic",
                "logical_client": who.instance_id or f"{who.client_id}@{who.client_host.lstrip('/')}",
            }
        )
        for role, topics in (
            ("assigned", given_.partitions if given_ else {}),
            ("owned_before", said.owned_partitions if said else {}),
        ):
            for topic, parts in topics.items():
                rows["member_partitions"].append({**name, "role": role, "topic": topic, "parts": list(parts)})
    return rows


def user_data_bytes(blob: Any) -> int | None:
    return None if blob is None or blob.user_data is None else len(blob.user_data)


def read_or_none(read: Any, blob: bytes) -> Any:
    try:
        return read(blob) if blob else None
    except ImpossibleLengthError:
        return None


@examples(2)
@given(st.lists(values(), max_size=5), st.integers(1, 5))
def test_rows_match_handwritten_ones(found: list[bytes], at_once: int) -> None:
    silver = SilverRows("k", 1)
    rows: dict[str, list[dict[str, Any]]] = {}
    for first in range(0, len(found), at_once):
        rows_now: list[LogRow] = [(3, n, 0, KEY, value) for n, value in enumerate(found)]
        chunk = chunk_of_rows(rows_now[first : first + at_once])
        for table, written in silver.add(chunk):
            rows.setdefault(table, []).extend(written.to_pylist())
    expected: dict[str, list[dict[str, Any]]] = {}
    for offset, value in enumerate(found):
        for table, some in by_hand(value, offset).items():
            expected.setdefault(table, []).extend(some)
    for table, wanted in expected.items():
        columns = wanted[0].keys() if wanted else ()
        got = [{name: row[name] for name in columns} for row in rows.get(table, []) if not unknown_tag(row)]
        assert sorted(got, key=repr) == sorted(wanted, key=repr), table


def unknown_tag(row: dict[str, Any]) -> bool:
    """Return the rows of a record with an unknown tag, which is also reported."""
    return "unknown tag" in (row.get("error") or "")
