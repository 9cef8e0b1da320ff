"""Selection of the requests that a rule applies to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, TypedDict

from kohort.control.control_errors import ControlError, unknown
from kohort.control.request_facts import Records, RequestFacts, kafka_name
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of

ANY = "*"
VERSIONS = 100  # more versions than any API has
API_NAMES = frozenset(kafka_name(name) for name in API_BY_NAME)
# states of every group type, as on the wire; share groups have no own states
STATE_NAMES = frozenset(state.value for state in (*State, *GroupState, *StreamsGroupState))


GROUP_FIELDS = frozenset({"group_id", "groups", "coordinator_keys", "groups_names"})
FIELDS_THAT_HOLD = {
    "group": GROUP_FIELDS,
    "state": GROUP_FIELDS,
    "member": frozenset({"member_id", "members"}),
    "instance": frozenset({"group_instance_id", "instance_id", "members"}),
    "generation": frozenset({"generation_id", "generation_id_or_member_epoch", "member_epoch"}),
    "records": frozenset({"share_session_epoch"}),
}  # conditions that don't apply to every API, and the request fields they need; see `kohort.control.request_facts`


@cache
def fields_of(api: str) -> frozenset[str]:
    name = next(api_name for api_name in API_BY_NAME if kafka_name(api_name) == api)
    return frozenset(api_name.name for api_name in fields(message_of(name).request))


class MatchOptions(TypedDict, total=False):
    """Conditions of `faults.on` in addition to the API; see `Match`."""

    version: str | int
    node: int
    client_id: str
    principal: str
    group: str
    member: str
    instance: str
    generation: int
    state: str
    records: str


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions that must all hold. In texts, `*` matches any text and `?` one character."""

    api: str = ANY  # Kafka's name: `JoinGroup`
    version: str | None = None  # a number, or a range as in `3-5`
    node: int | None = None
    client_id: str | None = None
    principal: str | None = None  # such as `User:alice`, or `User:ANONYMOUS` without a login
    group: str | None = None
    member: str | None = None  # a member id, an instance id or a client id
    instance: str | None = None  # a `group.instance.id`
    generation: int | None = None
    state: str | None = None  # the group's state when the request arrives, as on the wire: `CompletingRebalance`
    # Records of a share group: `orders-0`, `orders-0@5`, `orders-0@5-9`. Matches requests that acknowledge one of them,
    # and responses that contain one if the rule applies to responses.
    records: str | None = None

    def __post_init__(self) -> None:
        """Raise ControlError for conditions that can never match."""
        if self.api != ANY and self.api not in API_NAMES:
            raise unknown("API", self.api, API_NAMES)
        if self.state is not None and self.state not in STATE_NAMES:
            raise unknown("group state", self.state, STATE_NAMES)
        if self.records is not None:
            _records(self.records)
        if self.version is not None:
            self._check_version(_range(self.version))
        if self.api != ANY:
            self._check_fields()

    def _check_version(self, versions: range) -> None:
        served = [spec for name, spec in API_BY_NAME.items() if self.api in (ANY, kafka_name(name))]
        if not any(
            candidate.min_version <= version <= candidate.max_version
            for candidate in served
            for version in versions[:VERSIONS]
        ):
            api = "no API" if self.api == ANY else f"no {self.api}"
            advice = "" if self.api == ANY else f"; valid versions: {served[0].min_version} to {served[0].max_version}"
            raise ControlError(f"unsupported version: {api} has version {self.version}{advice}")

    def _check_fields(self) -> None:
        """Raise ControlError for a condition on a field that requests of the API don't have."""
        for name, holders in FIELDS_THAT_HOLD.items():
            if getattr(self, name) is not None and not fields_of(self.api) & holders:
                field = "group" if name == "state" else name
                advice = "match them by client_id or node"
                raise ControlError(f"{self.api} requests have no {field}, so none would match; {advice}")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Match:
        """Return conditions from names and values, as in a file or request body.

        Raise ControlError for unknown names.
        """
        names = [field.name for field in fields(cls)]
        for name, value in values.items():
            if name not in names:
                raise unknown("match field", name, names)
            if name in ("node", "generation") and (not isinstance(value, int) or isinstance(value, bool)):
                raise ControlError(f"{name} must be a number, got {value!r}")
        texts: dict[str, Any] = {
            name: value if name in ("node", "generation") else str(value) for name, value in values.items()
        }
        return cls(**texts)

    def fits(self, facts: RequestFacts) -> bool:
        return (
            (self.api == ANY or self.api == facts.api)
            and (self.group is None or _like(facts.group, self.group))
            and (self.member is None or any(_like(name, self.member) for name in facts.names))
            and (self.instance is None or any(_like(name, self.instance) for name in facts.instances))
            and (self.client_id is None or _like(facts.client_id, self.client_id))
            and (self.principal is None or _like(str(facts.ticket.principal), self.principal))
            and (self.node is None or self.node == facts.node)
            and (self.generation is None or self.generation == facts.generation)
            and (self.version is None or facts.version in _range(self.version))
            and (self.state is None or self.state == facts.state)
            and (self.records is None or _are_about(facts, _records(self.records)))
        )

    def __str__(self) -> str:
        conditions = [
            f"{field.name} {value}"
            for field in fields(self)
            if field.name != "api" and (value := getattr(self, field.name)) is not None
        ]
        return " with ".join(filter(None, ["any request" if self.api == ANY else self.api, ", ".join(conditions)]))


def _like(value: str, pattern: str) -> bool:
    return value == pattern or fnmatchcase(value, pattern)


_RECORDS = re.compile(r"([^@]+)-(\d+)(?:@(\d+)(?:-(\d+))?)?")
_LAST_OFFSET = 2**63 - 1


@cache
def _records(text: str) -> Records:
    """Parse a range such as `orders-0@5-9`; without offsets it is the whole partition.

    Raise ControlError if invalid.
    """
    match = _RECORDS.fullmatch(text)
    if match is None:
        raise ControlError(f"{text!r} is not a partition with optional offsets, as in orders-0@5-9")
    topic, partition, first, last = match.groups()
    begin = int(first or 0)
    end = int(last) if last else begin if first else _LAST_OFFSET
    if end < begin:
        raise ControlError(f"{text!r} has a last offset below its first")
    return Records(topic, int(partition), begin, end)


def _are_about(facts: RequestFacts, records: Records) -> bool:
    return any(
        held.partition == records.partition
        and held.first_offset <= records.last_offset
        and held.last_offset >= records.first_offset
        and _like(held.topic, records.topic)
        for held in facts.records
    )


def _range(text: str) -> range:
    lowest, dash, highest = text.partition("-")
    try:
        return range(int(lowest), int(highest if dash else lowest) + 1)
    except ValueError:
        raise ControlError(f"{text!r} is not a version; use a number or a range, as in 3-5") from None
