"""Faults: rules that spoil requests."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, Field, WithJsonSchema

from kohort.control.body import Body
from kohort.control.documenting import IN_VAIN, NOT_THERE, one_of, refusals
from kohort.control.endpoint_context import TheLaboratory
from kohort.control.faults.matching import ANY, API_NAMES, STATE_NAMES, Match
from kohort.control.faults.rule_parsing import CHANGES, DO, parse_rule
from kohort.control.faults.rules import Rule
from kohort.control.gate_points import GATE_POINTS
from kohort.control.views import view
from kohort.control.waiting import LONGEST_WAIT_S, PATIENCE_S
from kohort.coordinator.events.group_event import KINDS
from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import RELEASES

router = APIRouter(prefix="/faults", tags=["faults"])


ABOUT = {
    "api": "Kafka's name: JoinGroup",
    "version": "a number, or a range as in 3-5",
    "node": "where it arrives",
    "client_id": "of who asks; in all texts * and ? stand for anything",
    "principal": "of who asks: User:alice, or User:ANONYMOUS without a login",
    "group": "the one it is about",
    "generation": "that the request names",
    "member": "a member id, an instance id or a client id",
    "instance": "a group.instance.id",
    "records": "a partition, and offsets if not all, of which a member of a share group says something: orders-0@5-9; "
    "where the answer is spoiled, or which that gives",
    "state": "the group's when the request comes, as on the wire: CompletingRebalance",
}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def _with_properties(properties: dict[str, dict[str, Any]]) -> WithJsonSchema:
    """What may be given, for the document. What is given is judged by the laboratory, which knows the nearest word."""
    return WithJsonSchema(
        {"type": "object", "properties": properties, "additionalProperties": False}, mode="validation"
    )


WORDS = {
    "api": one_of({ANY, *API_NAMES}),
    "state": one_of(STATE_NAMES),
}
CONDITIONS = {
    each.name: (NUMBER if each.name in ("node", "generation") else TEXT)
    | {"description": ABOUT[each.name]}
    | WORDS.get(each.name, {})
    for each in fields(Match)
}
ARGUMENTS = {
    "name": TEXT | {"description": "of an error, as Kafka calls it"} | one_of(each.name.upper() for each in ErrorCode),
    "length": NUMBER | {"description": "of truncate: how many bytes of the answer arrive"},
    "seconds": {"type": "number", "description": "of a delay, by the brokers' clock"},
    "jitter": {"type": "number", "description": "of a delay: at most this many seconds more"},
    "until": TEXT
    | {"description": "of a delay: a group's state, a kind of group event, or a gate point"}
    | one_of(STATE_NAMES | KINDS | GATE_POINTS.keys()),
    "shares": {
        "description": f"of assign: one of {', '.join(CHANGES)}; or partitions by member id and topic",
        "anyOf": [TEXT, {"type": "object", "additionalProperties": True}],
    },
    "node": NUMBER | {"description": "of hide_node"},
    "release": TEXT | {"description": f"of as_kafka: one of {', '.join(RELEASES)}"},
    "operation": TEXT | {"description": "of deny, as Kafka calls it: Read; All, if it is not said"},
    "topic": TEXT | {"description": "of deny: a topic, or a pattern"},
    "group": TEXT | {"description": "of deny: a group, or a pattern"},
    "transactional_id": TEXT | {"description": "of deny: a transactional id, or a pattern"},
    "cluster": {"type": "boolean", "description": "of deny: the right on the cluster"},
}


class NewRule(Body):
    """Which requests, what happens to them, and when."""

    match: Annotated[dict[str, Any], _with_properties(CONDITIONS)] = Field(
        default={},
        description="conditions, all of which must hold; none: any request",
        examples=[{"api": "Heartbeat", "group": "billing", "state": "Stable"}],
    )
    do: Annotated[str, WithJsonSchema({"type": "string", "enum": list(DO)})] = Field(examples=["delay"])
    arguments: Annotated[dict[str, Any], _with_properties(ARGUMENTS), Field(alias="with")] = Field(
        default={}, description="what `do` takes", examples=[{"seconds": 2}]
    )
    times: int | None = Field(None, ge=1, description="so often and no more")
    nth: int | None = Field(None, ge=1, description="from the n-th matching request on; alone: that one only")
    probability: float | None = Field(None, gt=0, le=1)


class Freeze(Body):
    """A member that is to fall silent."""

    group: str
    member: str | None = Field(None, description="a member id, an instance id or a client id; null: all of them")
    instance: str | None = Field(None, description="a group.instance.id")
    client_id: str | None = None


class CutOff(Body):
    """Who is to reach which node no longer."""

    client_id: str
    node: int


class RuleState(BaseModel):
    """A rule at work."""

    number: int
    text: str
    seen: int = Field(description="matching requests so far")
    acted: int = Field(description="on how many of them it has acted")
    exhausted: bool = Field(description="it will never act again")


@router.get("")
async def list_rules(laboratory: TheLaboratory) -> list[RuleState]:
    """The rules, in the order in which they are tried."""
    return [_state(rule) for rule in laboratory.faults]


@router.post("", status_code=201)
async def add(rule: NewRule, laboratory: TheLaboratory) -> RuleState:
    """Make a rule. One that can never match is refused, with the nearest word that could."""
    fields = {"match": rule.match, "do": rule.do, "with": rule.arguments}
    when = {"times": rule.times, "nth": rule.nth, "probability": rule.probability}
    return _state(parse_rule(laboratory.faults, fields | when))


@router.post("/freeze", status_code=201)
async def freeze(whom: Freeze, laboratory: TheLaboratory) -> RuleState:
    """A member falls silent without leaving, as a process that hangs, until the rule is removed."""
    return _state(laboratory.faults.freeze(**whom.model_dump()))


@router.post("/cut-off", status_code=201, responses=refusals(NOT_THERE))
async def cut_off(what: CutOff, laboratory: TheLaboratory) -> RuleState:
    """A client and a node no longer reach each other, until the rule is removed."""
    return _state(laboratory.faults.cut_off(what.client_id, what.node))


@router.get("/{number}/wait", responses=refusals(NOT_THERE, IN_VAIN))
async def wait(
    number: int,
    laboratory: TheLaboratory,
    times: Annotated[int, Query(ge=1, description="so often, since the rule was made")] = 1,
    timeout: Annotated[float, Query(gt=0, le=LONGEST_WAIT_S, description="in seconds")] = PATIENCE_S,
) -> RuleState:
    """Answered when a rule has acted so often; 408 when that takes too long."""
    rule = laboratory.faults.get(number)
    try:
        await rule.wait(times, timeout)
    except TimeoutError as late:
        raise HTTPException(408, str(late)) from None
    return _state(rule)


@router.delete("/{number}", responses=refusals(NOT_THERE))
async def remove(number: int, laboratory: TheLaboratory) -> None:
    """End a rule: what it holds goes on, what it has silenced is closed."""
    laboratory.faults.remove(number)


@router.delete("")
async def clear(laboratory: TheLaboratory) -> None:
    """End all rules."""
    laboratory.faults.clear()


def _state(rule: Rule) -> RuleState:
    return view(RuleState, rule, text=str(rule))
