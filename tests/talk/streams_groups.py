"""Defaults and short forms of requests and responses of streams groups. README.md in this folder lists them."""

from __future__ import annotations

from tests.talk import share_groups
from tests.talk.compare import Names
from tests.talk.shares import Shares
from tests.talk.values import NUMBER, Value

HEARTBEAT, DESCRIBE = "StreamsGroupHeartbeat", "StreamsGroupDescribe"
ROLES = ("active", "standby", "warmup")
TASKS = tuple(f"{role}_tasks" for role in ROLES)
REVOKED_TASKS = tuple(f"{tasks}_pending_revocation" for tasks in TASKS)
PAIRS = ("client_tags", "topic_configs", "last_assignment_configs")
PARTITIONS = ("active_partitions", "standby_partitions")
STATUSES = (
    "STALE_TOPOLOGY",
    "MISSING_SOURCE_TOPICS",
    "INCORRECTLY_PARTITIONED_TOPICS",
    "MISSING_INTERNAL_TOPICS",
    "SHUTDOWN_APPLICATION",
    "ASSIGNMENT_DELAYED",
    "MISSING_CLIENT_TAGS",
)  # by code

WORDS = {
    "epoch": "member_epoch",
    "instance": "instance_id",
    "rack": "rack_id",
    "process": "process_id",
    "seen": "endpoint_information_epoch",
    "shutdown": "shutdown_application",
}
TOPICS = {"reads": "source_topics", "patterns": "source_topic_regex", "writes": "repartition_sink_topics"}
# internal topics of an application
OWN_TOPICS = {"rereads": "repartition_source_topics", "stores": "state_changelog_topics"}

# Requests


def heartbeat(values: Value, names: Names, person: str) -> Value:
    """Return a heartbeat with the last received epoch. A new member sends a process, the last topology and no tasks."""
    values = share_groups.heartbeat(values, names, person, WORDS)
    values.setdefault("endpoint_information_epoch", names.get(f"{person}_endpoints", 0))
    _say_topology(values, names)
    _say_tasks(values)
    if "endpoint" in values:
        host, _, port = values.pop("endpoint").rpartition(":")
        values["user_endpoint"] = {"host": host, "port": int(port)}
    if "tags" in values:
        values["client_tags"] = values.pop("tags")
    for word in ("offsets", "end_offsets"):
        if word in values:
            values[f"task_{word}"] = _task_offsets(values.pop(word))
    if values["member_epoch"] == 0:
        newcomer = {"rebalance_timeout_ms": 30_000, "process_id": f"{person}-process"}
        newcomer |= {"topology": names.get("topology"), **{tasks: [] for tasks in TASKS}}
        values = newcomer | values
    return values


def _say_topology(values: Value, names: Names) -> None:
    said = values.get("topology")
    if isinstance(said, dict) and "subtopologies" not in said:
        parts = [_subtopology(str(name), about) for name, about in said.items() if name != "epoch"]
        values["topology"] = {"epoch": said.get("epoch", 0), "subtopologies": parts}
    if values.get("topology"):
        names["topology"] = values["topology"]


def _subtopology(name: str, about: Value) -> Value:
    built: Value = {"subtopology_id": name} | {field: list(about.get(word, [])) for word, field in TOPICS.items()}
    for word, field in OWN_TOPICS.items():
        topics = about.get(word, {})
        topics = topics if isinstance(topics, dict) else dict.fromkeys(topics)
        built[field] = [_own_topic(topic, more or {}) for topic, more in topics.items()]
    built["copartition_groups"] = [_copartitions(group, about) for group in about.get("together", [])]
    return built


def _own_topic(name: str, more: Value) -> Value:
    return {
        "name": name,
        "partitions": more.get("partitions", 0),
        "replication_factor": more.get("replicas", 0),
        "topic_configs": more.get("configs", {}),
    }


def _copartitions(group: list[str], about: Value) -> Value:
    """Return the indices of the topics among the subtopology's source topics."""
    fields = {word: (TOPICS | OWN_TOPICS)[word] for word in ("reads", "patterns", "rereads")}
    lists = {field: list(about.get(word, [])) for word, field in fields.items()}
    return {field: [there.index(topic) for topic in group if topic in there] for field, there in lists.items()}


def _say_tasks(values: Value) -> None:
    if "owns" in values:
        owned = values.pop("owns") or {}
        by_role = owned if set(owned) & set(ROLES) else {"active": owned}
        values.update({role: by_role.get(role, {}) for role in ROLES})
    for role, tasks in zip(ROLES, TASKS, strict=True):
        if role in values:
            values[tasks] = values.pop(role)


def _task_offsets(said: Value) -> Value:
    return [
        {"subtopology_id": str(name), "partition": int(partition), "offset": offset}
        for name, offsets in said.items()
        for partition, offset in offsets.items()
    ]


def describe_topology(values: Value, version: int, names: Names) -> None:
    """Expand `describes: {0: {source: {reads: [a], to: [work]}, work: {stores: [s]}}}`, nodes by subtopology."""
    if "describes" in values:
        subtopologies = [
            {"subtopology_id": str(name), "nodes": [_node(node, about or {}) for node, about in nodes.items()]}
            for name, nodes in values.pop("describes").items()
        ]
        values["topology_description"] = {"subtopologies": subtopologies, "global_stores": []}


def _node(name: str, about: Value) -> Value:
    node_type = 1 if "reads" in about else 3 if "writes" in about else 2
    return {
        "name": name,
        "node_type": about.get("type", node_type),
        "source_topics": about.get("reads", []),
        "sink_topic": about.get("writes"),
        "stores": about.get("stores", []),
        "successors": about.get("to", []),
    }


# Answers


def remember(heard: Value, names: Names, person: str) -> None:
    """Store the received tasks of all roles, and the endpoint epoch."""
    names[f"{person}_endpoints"] = heard["endpoint_information_epoch"]
    if heard["active_tasks"] is not None:
        told = zip(ROLES, TASKS, strict=True)
        names[f"{person}_share"] = {role: dict(brief(tasks, heard[tasks])) for role, tasks in told}


def brief(name: str, value: Value) -> Value:
    """Shorten a list of tasks, partitions, key-value pairs or statuses to a mapping; other fields stay."""
    if not isinstance(value, list):
        return value
    if name in (*TASKS, *REVOKED_TASKS):
        return Shares({_number(item["subtopology_id"]): _partitions(item) for item in value})
    if name in PARTITIONS:
        return Shares({item["topic"]: sorted(item["partitions"]) for item in value})
    if name in PAIRS:
        return Shares({item["key"]: item["value"] for item in value})
    if name == "status":
        return Shares({STATUSES[item["status_code"]]: item["status_detail"] for item in value})
    return value


def _number(subtopology_id: str) -> Value:
    return int(subtopology_id) if NUMBER.fullmatch(subtopology_id) else subtopology_id


def _partitions(tasks: Value) -> Value:
    epochs = tasks.get("assignment_epochs")
    if epochs is None:
        return sorted(tasks["partitions"])
    return [f"{partition}@{epoch}" for partition, epoch in sorted(zip(tasks["partitions"], epochs, strict=True))]


# What goes without saying

NO_TASKS: Value = {tasks: {} for tasks in TASKS}
NO_NEWS: Value = dict.fromkeys(TASKS)
BEAT: Value = {
    "acceptable_recovery_lag_legacy": 0,
    "acceptable_recovery_lag": -1,
    "task_offset_interval_ms": 0,
    "topology_description_required": False,
    "status": {},
    "endpoint_information_epoch": 0,
    "partitions_by_user_endpoint": None,
}
REFUSED: Value = BEAT | NO_NEWS | {"member_id": "", "member_epoch": 0, "heartbeat_interval_ms": 0}
MEMBER: Value = {
    "instance_id": None,
    "rack_id": None,
    "client_host": "/127.0.0.1",
    "user_endpoint": None,
    "client_tags": {},
}
DESCRIBED_MEMBER: Value = MEMBER | {
    "topology_epoch": 0,
    "task_offsets": [],
    "task_end_offsets": [],
    "is_classic": False,
}
RECORDS: Value = {19: MEMBER, 21: NO_TASKS, 22: {tasks: {} for tasks in (*TASKS, *REVOKED_TASKS)}}  # by record type


def unsaid_of_beat(said: Value, version: int, release: str) -> Value:
    """Return the default fields, with the tasks of the other roles, which are sent together with the active ones."""
    is_leaving = isinstance(said.get("member_epoch"), int) and said["member_epoch"] < 0
    usual = BEAT if is_leaving or release != "4.4" else BEAT | {"task_offset_interval_ms": 60_000}
    if version >= 1 and not is_leaving:
        usual = usual | {"acceptable_recovery_lag": 10_000}
    if "active_tasks" not in said or said["active_tasks"] == "_":
        return usual
    return usual | (NO_NEWS if said["active_tasks"] is None else NO_TASKS)


def described_group(version: int) -> Value:
    """Return the default fields of a described group."""
    if version < 1:
        return {}
    return {"topology_description": None, "topology_description_status": 0, "assignor_name": "sticky"}


def described_member(said: Value) -> Value:
    """Return a member of a described group with its default fields."""
    shares = {name: NO_TASKS | said[name] for name in ("assignment", "target_assignment") if name in said}
    return DESCRIBED_MEMBER | said | shares


def record(said: Value) -> Value:
    """Return a record in the log with its default fields."""
    usual = RECORDS.get(said.get("type")) if isinstance(said, dict) else None
    return said if usual is None or said.get("value") is None else said | {"value": usual | said["value"]}
