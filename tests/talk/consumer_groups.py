"""Defaults in heartbeats of consumer groups, and short forms of the responses in groups of all newer protocols.

README.md in this folder lists them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.talk import share_groups, streams_groups
from tests.talk.compare import Names
from tests.talk.shares import Shares
from tests.talk.values import Value, topic_id

Call = Callable[[str, str, int, Value], Awaitable[Value]]  # sends a request of a speaker and returns the response

HEARTBEAT, DESCRIBE = "ConsumerGroupHeartbeat", "ConsumerGroupDescribe"
HEARTBEATS = {HEARTBEAT, share_groups.HEARTBEAT, streams_groups.HEARTBEAT}
DESCRIPTIONS = {DESCRIBE, share_groups.DESCRIBE, streams_groups.DESCRIBE}
TELLS_SHARES = {*HEARTBEATS, *DESCRIPTIONS}
KINDS = {
    "consumer": (HEARTBEAT, DESCRIBE, 1),
    "share": (share_groups.HEARTBEAT, share_groups.DESCRIBE, 1),
    "streams": (streams_groups.HEARTBEAT, streams_groups.DESCRIBE, 0),
}  # by group type: API of the heartbeat, API of the description, and their versions
WORDS = {
    "epoch": "member_epoch",
    "topics": "subscribed_topic_names",
    "regex": "subscribed_topic_regex",
    "owns": "topic_partitions",
    "instance": "instance_id",
    "rack": "rack_id",
    "assignor": "server_assignor",
}
REFUSED = {"member_id": None, "member_epoch": 0, "heartbeat_interval_ms": 0, "assignment": None}
DESCRIBED_GROUP = {"error_code": "NONE", "error_message": None, "authorized_operations": -(2**31)}
DESCRIBED_MEMBER = {"rack_id": None, "client_host": "/127.0.0.1", "instance_id": None, "subscribed_topic_regex": ""}
# maximum number of heartbeats of each member until a new group is stable, and the time between them
MOST_ROUNDS, BETWEEN_ROUNDS_MS = 100, 20
PARTITIONS = {
    "assigned_partitions",
    "partitions_pending_revocation",
    "topic_partitions",
    "initializing_topics",
    "initialized_topics",
}


def heartbeat(values: Value, names: Names, person: str) -> Value:
    """Return a heartbeat with the last received epoch; a new member owns nothing and has 30 s for revocations."""
    values = share_groups.heartbeat(values, names, person, WORDS)
    if values["member_epoch"] == 0:
        values.setdefault("rebalance_timeout_ms", 30_000)
        values.setdefault("topic_partitions", [])
    owned = values.get("topic_partitions")
    if isinstance(owned, dict):
        values["topic_partitions"] = [
            {"topic_id": topic_id(topic, names), "partitions": partitions} for topic, partitions in owned.items()
        ]
    return values


def heartbeat_of(kind: str, version: int | None) -> tuple[str, int]:
    """Return the heartbeat API of a group type, with its usual version by default."""
    heartbeat, _, usual = KINDS[kind]
    return heartbeat, usual if version is None else version


async def share_a_group(
    kind: str,
    ways: tuple[Call, Names, Callable[[int], object]],
    people: list[str],
    options: Value,
    own: dict[str, Value],
) -> str:
    """Let people join one after the other by heartbeat, until the group is stable.

    Args:
        ways: Functions to send and receive, names, and a function that waits for milliseconds.

    Returns:
        The error, or an empty string.
    """
    call, names, wait = ways
    for number, person in enumerate(people, start=1):
        response = await call(person, KINDS[kind][0], KINDS[kind][2], {"epoch": 0} | options | own[person])
        if response["error_code"] != "NONE":
            return f"{person} receives {response['error_code']} while the group is set up"
        rounds = 0
        while not await _is_settled(kind, call, names, people[:number]):
            rounds += 1
            if rounds > MOST_ROUNDS:
                return "the group does not become stable while it is set up"
            wait(BETWEEN_ROUNDS_MS)
    return ""


async def _is_settled(kind: str, call: Call, names: Names, people: list[str]) -> bool:
    """Send a heartbeat for each member. Return whether nothing changed and the group is stable."""
    has_changed = False
    heartbeat, description, version = KINDS[kind]
    for person in people:
        before = names[f"{person}_epoch"]
        owns = {} if kind == "share" else {"owns": names[f"{person}_share"]}
        response = await call(person, heartbeat, version, owns)
        assignment = response["active_tasks" if kind == "streams" else "assignment"]
        has_changed = has_changed or assignment is not None or response["member_epoch"] != before
    state = (await call(people[0], description, version, {}))["groups"][0]
    is_assigned = any(share for member in state["members"] for share in member["assignment"].values())
    is_stable = state["group_state"] == "Stable" and state["group_epoch"] == state["assignment_epoch"]
    return not has_changed and is_stable and is_assigned


def remember(response: Value, names: Names, person: str) -> None:
    """Store the received epoch and assignment for the next heartbeat. A member that has left is a new member."""
    if response["error_code"] == "NONE":
        names[f"{person}_epoch"] = max(response["member_epoch"], 0)
        if "active_tasks" in response:
            streams_groups.remember(response, names, person)
        elif response["assignment"] is not None:
            names[f"{person}_share"] = brief(response["assignment"], names)


def unsaid(api: str, version: int, said: Value, person: str, release: str) -> Value:
    """Return the expected fields that a conversation leaves out."""
    if api in HEARTBEATS:
        interval: Value
        is_streams = api == streams_groups.HEARTBEAT
        if said.get("error_code", "NONE") != "NONE":
            return (streams_groups.REFUSED if is_streams else REFUSED) | said
        epoch = said.get("member_epoch")
        interval = {"heartbeat_interval_ms": 5_000 if epoch >= 0 else 0} if isinstance(epoch, int) else {}
        usual: Value = streams_groups.unsaid_of_beat(said, version, release) if is_streams else {}
        return usual | {"error_message": None, "member_id": f"${person}"} | interval | said
    if api == "GroupLog" and "records" in said:
        return said | {"records": [streams_groups.record(line) for line in said["records"]]}
    if api in DESCRIPTIONS and isinstance(said.get("groups"), list):
        alone = len(said["groups"]) == 1
        return said | {"groups": [_described(api, version, group, alone) for group in said["groups"]]}
    return said


def _described(api: str, version: int, group: Value, alone: bool) -> Value:
    if not isinstance(group, dict) or group.get("error_code", "NONE") != "NONE":
        return group
    usual: Value = streams_groups.described_group(version) if api == streams_groups.DESCRIBE else {}
    full: Value = DESCRIBED_GROUP | usual | ({"group_id": "$group"} if alone else {}) | group
    if isinstance(group.get("members"), list):
        full["members"] = [
            _described_member(api, version, item) if isinstance(item, dict) else item for item in group["members"]
        ]
    return full


def _described_member(api: str, version: int, member: Value) -> Value:
    if api == streams_groups.DESCRIBE:
        return streams_groups.described_member(member)
    if api == share_groups.DESCRIBE:
        return share_groups.DESCRIBED_MEMBER | member
    return DESCRIBED_MEMBER | ({"member_type": 1} if version >= 1 else {}) | member


def brief(value: Value, names: Names) -> Value:
    """Shorten lists of topic ids with partitions to `{topic: [0, 1]}`, in log records to `{topic: [0@2]}`."""
    if isinstance(value, list):
        return [brief(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"topic_partitions"}:
        return _partitions(value["topic_partitions"], names)
    return {
        key: _partitions(item, names) if key in PARTITIONS and item is not None else _brief_field(key, item, names)
        for key, item in value.items()
    }


def _brief_field(name: str, value: Value, names: Names) -> Value:
    short = streams_groups.brief(name, value)
    return short if short is not value else brief(value, names)


def _partitions(entries: list[Value], names: Names) -> Value:
    topics = {names[name]: names[name.removesuffix("_id")] for name in names if name.endswith("_id")}
    found = Shares()
    found.travelled = entries
    for entry in entries:
        epochs = entry.get("assignment_epochs")
        numbers = entry["partitions"]
        told = numbers if epochs is None else [f"{p}@{e}" for p, e in zip(numbers, epochs, strict=True)]
        found[topics.get(entry["topic_id"], entry["topic_id"])] = sorted(told)
    return found
