"""Which requests a rule is for."""

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
VERSIONS = 100
"""More than any API has."""
API_NAMES = frozenset(kafka_name(name) for name in API_BY_NAME)
STATE_NAMES = frozenset(state.value for state in (*State, *GroupState, *StreamsGroupState))
"""States of groups of any kind, by their names on the wire. Share groups have none of their own."""


GROUP_FIELDS = frozenset({"group_id", "groups", "coordinator_keys", "groups_names"})
FIELDS_THAT_HOLD = {
    "group": GROUP_FIELDS,
    "state": GROUP_FIELDS,
    "member": frozenset({"member_id", "members"}),
    "instance": frozenset({"group_instance_id", "instance_id", "members"}),
    "generation": frozenset({"generation_id", "generation_id_or_member_epoch", "member_epoch"}),
    "records": frozenset({"share_session_epoch"}),
}
"""What not every API can be matched by, and the fields of requests that hold it; see `kohort.control.request_facts`."""


@cache
def fields_of(api: str) -> frozenset[str]:
    """The fields of an API's requests."""
    name = next(each for each in API_BY_NAME if kafka_name(each) == api)
    return frozenset(each.name for each in fields(message_of(name).request))


class MatchOptions(TypedDict, total=False):
    """What `faults.on` takes beside the API; see `Match`."""

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
    """Everything that is given must hold. In texts `*` stands for anything and `?` for one character."""

    api: str = ANY
    """Kafka's name: `JoinGroup`."""
    version: str | None = None
    """A number, or a range as in `3-5`."""
    node: int | None = None
    client_id: str | None = None
    principal: str | None = None
    """Who is logged in, as `User:alice`; `User:ANONYMOUS` without a login."""
    group: str | None = None
    member: str | None = None
    """A member id, an instance id or a client id."""
    instance: str | None = None
    """A `group.instance.id`."""
    generation: int | None = None
    state: str | None = None
    """The group's state when the request comes, as on the wire: `CompletingRebalance`."""
    records: str | None = None
    """Records of a share group, as a partition and offsets: `orders-0`, `orders-0@5`, `orders-0@5-9`. A request
    that says something of one of them; where the answer is spoiled, or an answer that gives one."""

    def __post_init__(self) -> None:
        """Raises ControlError for what can never match."""
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

    def _check_version(self, asked: range) -> None:
        served = [spec for name, spec in API_BY_NAME.items() if self.api in (ANY, kafka_name(name))]
        if not any(each.min_version <= version <= each.max_version for each in served for version in asked[:VERSIONS]):
            what = "no API" if self.api == ANY else f"no {self.api}"
            are = "" if self.api == ANY else f"; there are {served[0].min_version} to {served[0].max_version}"
            raise ControlError(f"there is {what} of version {self.version}{are}")

    def _check_fields(self) -> None:
        """A match on a field that requests of this API lack would never hold."""
        for name, holders in FIELDS_THAT_HOLD.items():
            if getattr(self, name) is not None and not fields_of(self.api) & holders:
                what = "group" if name == "state" else name
                advice = "choose them by client_id or node"
                raise ControlError(f"{self.api} requests name no {what}, so none would match; {advice}")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Match:
        """From words and values, as a file or a request has them. Raises ControlError for a word that is none."""
        names = [each.name for each in fields(cls)]
        for name, value in values.items():
            if name not in names:
                raise unknown("match field", name, names)
            if name in ("node", "generation") and (not isinstance(value, int) or isinstance(value, bool)):
                raise ControlError(f"{name} is a number, not {value!r}")
        texts: dict[str, Any] = {
            name: value if name in ("node", "generation") else str(value) for name, value in values.items()
        }
        return cls(**texts)

    def fits(self, facts: RequestFacts) -> bool:
        """Whether a request is one of those."""
        return (
            (self.api == ANY or self.api == facts.api)
            and (self.group is None or _like(facts.group, self.group))
            and (self.member is None or any(_like(each, self.member) for each in facts.names))
            and (self.instance is None or any(_like(each, self.instance) for each in facts.instances))
            and (self.client_id is None or _like(facts.client_id, self.client_id))
            and (self.principal is None or _like(str(facts.ticket.principal), self.principal))
            and (self.node is None or self.node == facts.node)
            and (self.generation is None or self.generation == facts.generation)
            and (self.version is None or facts.version in _range(self.version))
            and (self.state is None or self.state == facts.state)
            and (self.records is None or _are_about(facts, _records(self.records)))
        )

    def __str__(self) -> str:
        """In one line, for a person."""
        conditions = [
            f"{each.name} {value}"
            for each in fields(self)
            if each.name != "api" and (value := getattr(self, each.name)) is not None
        ]
        return " with ".join(filter(None, ["any request" if self.api == ANY else self.api, ", ".join(conditions)]))


def _like(value: str, pattern: str) -> bool:
    return value == pattern or fnmatchcase(value, pattern)


_RECORDS = re.compile(r"([^@]+)-(\d+)(?:@(\d+)(?:-(\d+))?)?")
_LAST_OFFSET = 2**63 - 1


@cache
def _records(text: str) -> Records:
    """What `orders-0@5-9` means; without offsets all of the partition. Raises ControlError."""
    found = _RECORDS.fullmatch(text)
    if found is None:
        raise ControlError(f"{text!r} names no records; write a partition, and offsets if not all: orders-0@5-9")
    topic, partition, first, last = found.groups()
    begin = int(first or 0)
    end = int(last) if last else begin if first else _LAST_OFFSET
    if end < begin:
        raise ControlError(f"{text!r} ends before it begins")
    return Records(topic, int(partition), begin, end)


def _are_about(facts: RequestFacts, wanted: Records) -> bool:
    """Whether a request, or its answer, is about one of these records."""
    return any(
        each.partition == wanted.partition
        and each.first_offset <= wanted.last_offset
        and each.last_offset >= wanted.first_offset
        and _like(each.topic, wanted.topic)
        for each in facts.records
    )


def _range(text: str) -> range:
    lowest, dash, highest = text.partition("-")
    try:
        return range(int(lowest), int(highest if dash else lowest) + 1)
    except ValueError:
        raise ControlError(f"{text!r} is no version; write a number, or a range as in 3-5") from None
