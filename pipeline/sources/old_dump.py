"""Records from the output of kafka-dump-log before 4.0 with --offsets-decoder.

Since 4.0 the tool prints complete records as JSON. Older versions omit leader, timeouts and subscriptions, and print
only the assignments of a group's members. The client id is the first part of the member id.
Source: kafka.tools.DumpLogSegments and GroupMetadataManager of 2.x and 3.x.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kohort.pipeline.sources.checked import whole
from kohort.pipeline.sources.reasons import client_of
from kohort.protocol.consumer_protocol import Assignment, write_assignment
from kohort.protocol.records.record_writer import encode_key, encode_value

_COMMIT_KEY = "offset_commit::group="
_COMMIT = re.compile(r"offset=(-?\d+)(?:,metadata=(.*))?$")
_GROUP = "group_metadata::group="
_MEMBER = re.compile(r"(?:^|,)([^,\[]+?)=(?:\[([^\]]*)\](?::[0-9a-fA-F]*)?|([0-9a-fA-F]*))(?=,|$)")
_COMMIT_VERSION, _GROUP_VERSION = 3, 0


def old_record(key_text: str, value_text: str, time_ms: int) -> tuple[bytes, bytes | None]:
    """Return the key and the value of a record; a tombstone has the value None.

    Args:
        key_text: Key as the tool prints it.
        value_text: Value as the tool prints it.
        time_ms: Timestamp of the record, used as commit time, which the tool doesn't print.

    Raises:
        UNREADABLE: The text has another format.
    """
    is_tombstone = value_text.strip() == "<DELETE>"
    if key_text.startswith(_GROUP):
        key = encode_key(2, {"group": key_text.removeprefix(_GROUP)})
        return key, None if is_tombstone else _group(json.loads(value_text))
    group, _, of_topic = key_text.removeprefix(_COMMIT_KEY).rpartition(",partition=")
    topic, _, number = of_topic.rpartition("-")
    key = encode_key(1, {"group": group, "topic": topic, "partition": whole(number, 32)})
    if is_tombstone:
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
    """Return assignments by member id from text such as `{m-1=[t-0, t-1],m-2=[]}`.

    Groups with another protocol type have hex values, as in `{w-1=00ff}`; some wrappers make the text a JSON object.
    """
    if isinstance(text, dict):
        return {member: _of_consumer(partitions) for member, partitions in text.items()}
    inside = text.strip().removeprefix("{").removesuffix("}")
    if _MEMBER.sub("", inside):
        raise ValueError("unknown format of an assignment")
    return {
        match[1]: bytes.fromhex(match[3]) if match[2] is None else _of_consumer(match[2].split(","))
        for match in _MEMBER.finditer(inside)
    }


def _of_consumer(names: list[str]) -> bytes:
    partitions: dict[str, tuple[int, ...]] = {}
    for name in filter(None, map(str.strip, names)):
        topic, _, number = name.rpartition("-")
        partitions[topic] = (*partitions.get(topic, ()), whole(number, 32))
    return write_assignment(Assignment(partitions=partitions))
