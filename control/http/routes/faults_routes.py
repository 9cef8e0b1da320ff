"""Faults: rules that fail, delay or change requests and responses."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field, WithJsonSchema

from kohort.control.faults.matching import ANY, API_NAMES, STATE_NAMES, Match
from kohort.control.faults.rule_parsing import CHANGES, DO, parse_rule
from kohort.control.faults.rules import Rule
from kohort.control.gates.gate_points import GATE_POINTS
from kohort.control.http.body import Body
from kohort.control.http.documenting import IN_VAIN, NOT_THERE, one_of, refusals
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.http.views import view
from kohort.control.waiting import MAX_WAIT_S, PATIENCE_S
from kohort.coordinator.events.group_event import KINDS
from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import RELEASES

router = APIRouter(prefix="/faults", tags=["faults"])


ABOUT = {
    "api": "Kafka's name: JoinGroup",
    "version": "a number, or a range as in 3-5",
    "node": "id of the node that receives the request",
    "client_id": "client id of the sender; all texts may contain the wildcards * and ?",
    "principal": "principal of the sender: User:alice, or User:ANONYMOUS without a login",
    "group": "group of the request",
    "generation": "generation in the request",
    "member": "a member id, an instance id or a client id",
    "instance": "a group.instance.id",
    "records": "a partition, with offsets if not all, whose records a share group's member acknowledges: orders-0@5-9; "
    "for rules that affect the response, also those that it delivers",
    "state": "state of the group when the request arrives, as in the protocol: CompletingRebalance",
}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def _with_properties(properties: dict[str, dict[str, Any]]) -> WithJsonSchema:
    """Return the schema of an object. The laboratory validates the values, because it can suggest the nearest word."""
    return WithJsonSchema(
        {"type": "object", "properties": properties, "additionalProperties": False}, mode="validation"
    )


WORDS = {
    "api": one_of({ANY, *API_NAMES}),
    "state": one_of(STATE_NAMES),
}
CONDITIONS = {
    column.name: (NUMBER if column.name in ("node", "generation") else TEXT)
    | {"description": ABOUT[column.name]}
    | WORDS.get(column.name, {})
    for column in fields(Match)
}
ARGUMENTS = {
    "name": TEXT | {"description": "for error: Kafka's name"} | one_of(error.name.upper() for error in ErrorCode),
    "length": NUMBER | {"description": "for truncate: number of bytes of the response that arrive"},
    "seconds": {"type": "number", "description": "for delay: duration by the brokers' clock"},
    "jitter": {"type": "number", "description": "for delay: maximum number of additional seconds"},
    "until": TEXT
    | {"description": "for delay: the state of a group, an event kind, or a gate point"}
    | one_of(STATE_NAMES | KINDS | GATE_POINTS.keys()),
    "shares": {
        "description": f"for assign: one of {', '.join(CHANGES)}; or partitions by member id and topic",
        "anyOf": [TEXT, {"type": "object", "additionalProperties": True}],
    },
    "node": NUMBER | {"description": "for hide_node"},
    "release": TEXT | {"description": f"for as_kafka: one of {', '.join(RELEASES)}"},
    "operation": TEXT | {"description": "for deny: Kafka's name, as in Read; the default is All"},
    "topic": TEXT | {"description": "for deny: a topic, or a pattern"},
    "group": TEXT | {"description": "for deny: a group, or a pattern"},
    "transactional_id": TEXT | {"description": "for deny: a transactional id, or a pattern"},
    "cluster": {"type": "boolean", "description": "for deny: the operation on the cluster"},
}


class NewRule(Body):
    """Which requests are affected, how, and when."""

    match: Annotated[dict[str, Any], _with_properties(CONDITIONS)] = Field(
        default={},
        description="conditions, all of which must hold; none: any request",
        examples=[{"api": "Heartbeat", "group": "billing", "state": "Stable"}],
    )
    do: Annotated[str, WithJsonSchema({"type": "string", "enum": list(DO)})] = Field(examples=["delay"])
    arguments: Annotated[dict[str, Any], _with_properties(ARGUMENTS), Field(alias="with")] = Field(
        default={}, description="arguments of `do`", examples=[{"seconds": 2}]
    )
    times: int | None = Field(None, ge=1, description="maximum number of requests that are affected")
    nth: int | None = Field(
        None, ge=1, description="from the n-th matching request on; without other conditions: that request only"
    )
    probability: float | None = Field(None, gt=0, le=1)


class Freeze(Body):
    """A member to freeze."""

    group: str
    member: str | None = Field(None, description="a member id, an instance id or a client id; null: all members")
    instance: str | None = Field(None, description="a group.instance.id")
    client_id: str | None = None


class CutOff(Body):
    """A client and a node to separate."""

    client_id: str
    node: int


class RuleState(BaseModel):
    """An active rule."""

    number: int
    text: str
    seen: int = Field(description="matching requests so far")
    acted: int = Field(description="number of requests on which it has acted")
    exhausted: bool = Field(description="it will never act again")


@router.get("")
async def list_rules(laboratory: TheLaboratory) -> list[RuleState]:
    """List the rules in the order in which they are applied."""
    return [_state(rule) for rule in laboratory.faults]


@router.post("", status_code=201)
async def add(rule: NewRule, laboratory: TheLaboratory) -> RuleState:
    """Add a rule. A rule that can never match is rejected, with a suggestion."""
    fields = {"match": rule.match, "do": rule.do, "with": rule.arguments}
    triggers = {"times": rule.times, "nth": rule.nth, "probability": rule.probability}
    return _state(parse_rule(laboratory.faults, fields | triggers))


@router.post("/freeze", status_code=201)
async def freeze(frozen: Freeze, laboratory: TheLaboratory) -> RuleState:
    """Freeze a member: it becomes silent without leaving, like a process that hangs, until the rule is removed."""
    return _state(laboratory.faults.freeze(**frozen.model_dump()))


@router.post("/cut-off", status_code=201, responses=refusals(NOT_THERE))
async def cut_off(pair: CutOff, laboratory: TheLaboratory) -> RuleState:
    """Disconnect a client from a node, until the rule is removed."""
    return _state(laboratory.faults.cut_off(pair.client_id, pair.node))


@router.get("/{number}/wait", responses=refusals(NOT_THERE, IN_VAIN))
async def wait(
    number: int,
    laboratory: TheLaboratory,
    times: Annotated[int, Query(ge=1, description="number of times since the rule was added")] = 1,
    timeout: Annotated[float, Query(gt=0, le=MAX_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> RuleState:
    """Wait until a rule has acted this many times. The status is 408 after the timeout."""
    rule = laboratory.faults.get(number)
    try:
        await rule.wait(times, timeout)
    except TimeoutError as error:
        raise HTTPException(408, str(error)) from None
    return _state(rule)


@router.delete("/{number}", responses=refusals(NOT_THERE))
async def remove(number: int, laboratory: TheLaboratory) -> None:
    """Remove a rule: held requests continue, and silenced connections are closed."""
    laboratory.faults.remove(number)


@router.delete("")
async def clear(laboratory: TheLaboratory) -> None:
    """Remove all rules."""
    laboratory.faults.clear()


def _state(rule: Rule) -> RuleState:
    return view(RuleState, rule, text=str(rule))
