"""Faults: rules that spoil requests."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, WithJsonSchema

from kohort.control.body import Body
from kohort.control.documenting import NOT_THERE, refusals
from kohort.control.endpoint_context import TheLaboratory
from kohort.control.faults.matching import Match
from kohort.control.faults.rule_parsing import CHANGES, DO, parse_rule
from kohort.control.faults.rules import Rule
from kohort.control.views import view

router = APIRouter(prefix="/faults", tags=["faults"])


ABOUT = {
    "api": "Kafka's name: JoinGroup",
    "version": "a number, or a range as in 3-5",
    "node": "where it arrives",
    "client_id": "of who asks; in all texts * and ? stand for anything",
    "group": "the one it is about",
    "generation": "that the request names",
    "member": "a member id",
    "instance": "a group.instance.id",
    "state": "the group's when the request comes, as on the wire: CompletingRebalance",
}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def _with_properties(properties: dict[str, dict[str, Any]]) -> WithJsonSchema:
    """What may be given, for the document. What is given is judged by the laboratory, which knows the nearest word."""
    return WithJsonSchema(
        {"type": "object", "properties": properties, "additionalProperties": False}, mode="validation"
    )


CONDITIONS = {
    each.name: (NUMBER if each.name in ("node", "generation") else TEXT) | {"description": ABOUT[each.name]}
    for each in fields(Match)
}
ARGUMENTS = {
    "name": TEXT | {"description": "of an error, as Kafka calls it"},
    "length": NUMBER | {"description": "of truncate: how many bytes of the answer arrive"},
    "seconds": {"type": "number", "description": "of a delay, by the brokers' clock"},
    "jitter": {"type": "number", "description": "of a delay: up to so many seconds more"},
    "until": TEXT | {"description": "of a delay: a group's state, a kind of group event, or a gate point"},
    "shares": {
        "description": f"of assign: one of {', '.join(CHANGES)}; or partitions by member id and topic",
        "anyOf": [TEXT, {"type": "object", "additionalProperties": True}],
    },
    "node": NUMBER | {"description": "of hide_node"},
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


class RuleState(BaseModel):
    """A rule at work."""

    number: int
    text: str
    seen: int = Field(description="matching requests so far")
    acted: int = Field(description="how many of them were spoiled")
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
