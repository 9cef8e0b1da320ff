"""What older dump tools print of the offsets topic with --offsets-decoder, as the bytes of records again.

Since 4.0 the tool prints all of a record as JSON. Those before print less: no leader, no timeouts, no subscriptions,
and of a group's members what they own. A member's client is the front part of its id.
Source: kafka.tools.DumpLogSegments and GroupMetadataManager of 2.x and 3.x.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kohort.pipeline.records.record_codec import encode_key, encode_value
from kohort.pipeline.sources.checked import whole
from kohort.pipeline.sources.reasons import client_of
from kohort.protocol.consumer_protocol import Assignment, write_assignment

_COMMIT_KEY = "offset_commit::group="
_COMMIT = re.compile(r"offset=(-?\d+)(?:,metadata=(.*))?$")
_GROUP = "group_metadata::group="
_MEMBER = re.compile(r"(?:^|,)([^,\[]+?)=(?:\[([^\]]*)\](?::[0-9a-fA-F]*)?|([0-9a-fA-F]*))(?=,|$)")
_COMMIT_VERSION, _GROUP_VERSION = 3, 0


def old_record(key_text: str, value_text: str, time_ms: int) -> tuple[bytes, bytes | None]:
    """The key and the value, None for a tombstone. Raises what UNREADABLE names for other words.

    time_ms: the record's, which is when a commit was made; the tool doesn't print that.
    """
    gone = value_text.strip() == "<DELETE>"
    if key_text.startswith(_GROUP):
        key = encode_key(2, {"group": key_text.removeprefix(_GROUP)})
        return key, None if gone else _group(json.loads(value_text))
    group, _, of_topic = key_text.removeprefix(_COMMIT_KEY).rpartition(",partition=")
    topic, _, number = of_topic.rpartition("-")
    key = encode_key(1, {"group": group, "topic": topic, "partition": whole(number, 32)})
    if gone:
        return key, None
    if (commit := _COMMIT.match(value_text)) is None:
        raise ValueError("no offset in the payload")
    value = {"offset": whole(commit[1]), "metadata": commit[2] or "", "commitTimestamp": time_ms}
    return key, encode_value(1, _COMMIT_VERSION, value)


def _group(value: dict[str, Any]) -> bytes:
    members = [
        {
            "memberId": member,
            "clientId": client_of(member),
            "clientHost": "",
            "sessionTimeout": 0,
            "subscription": b"",
            "assignment": assignment,
        }
        for member, assignment in _assignments(value["assignment"]).items()
    ]
    head = {"protocolType": value["protocolType"], "generation": whole(value["generationId"], 32)}
    return encode_value(2, _GROUP_VERSION, head | {"protocol": value["protocol"], "leader": None, "members": members})


def _assignments(text: str | dict[str, list[str]]) -> dict[str, bytes]:
    """By member id, out of `{m-1=[t-0, t-1],m-2=[]}`; of other groups than consumers' out of `{w-1=00ff}`.

    Some wrappers have made an object of it.
    """
    if isinstance(text, dict):
        return {member: _of_consumer(partitions) for member, partitions in text.items()}
    inside = text.strip().removeprefix("{").removesuffix("}")
    if _MEMBER.sub("", inside):
        raise ValueError("an assignment in a form that is not known")
    return {
        found[1]: bytes.fromhex(found[3]) if found[2] is None else _of_consumer(found[2].split(","))
        for found in _MEMBER.finditer(inside)
    }


def _of_consumer(names: list[str]) -> bytes:
    partitions: dict[str, tuple[int, ...]] = {}
    for name in filter(None, map(str.strip, names)):
        topic, _, number = name.rpartition("-")
        partitions[topic] = (*partitions.get(topic, ()), whole(number, 32))
    return write_assignment(Assignment(partitions=partitions))
