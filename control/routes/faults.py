"""Faults: rules that spoil requests."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from kohort.control.context import TheLaboratory
from kohort.control.documenting import NOT_THERE, refusals
from kohort.control.faults.rules import Rule
from kohort.control.faults.spoken import make

router = APIRouter(prefix="/faults", tags=["faults"])


class NewRule(BaseModel):
    """Which requests, what happens to them, and when."""

    model_config = ConfigDict(populate_by_name=True)

    match: dict[str, Any] = Field(
        default={},
        description="conditions: api, version, node, client_id, group, member, instance, generation, state; texts may "
        "hold * and ?",
        examples=[{"api": "Heartbeat", "group": "billing", "state": "Stable"}],
    )
    do: str = Field(
        description="error, drop, hold, lose_answer, close, close_instead_of_answering, truncate, delay, delay_answer, "
        "assign, hide_node, stale_metadata, zombie",
        examples=["delay"],
    )
    arguments: Annotated[dict[str, Any], Field(alias="with")] = Field(
        default={},
        description="error: name; truncate: length; delay, delay_answer: seconds and jitter, or until (a state, a kind "
        "of group event, a stop of a gate); assign: shares; hide_node: node",
        examples=[{"seconds": 2}],
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
    told = {"match": rule.match, "do": rule.do, "with": rule.arguments}
    when = {"times": rule.times, "nth": rule.nth, "probability": rule.probability}
    return _state(make(laboratory.faults, told | when))


@router.delete("/{number}", responses=refusals(NOT_THERE))
async def remove(number: int, laboratory: TheLaboratory) -> None:
    """End a rule: what it holds goes on, what it has silenced is closed."""
    laboratory.faults.remove(number)


@router.delete("")
async def clear(laboratory: TheLaboratory) -> None:
    """End all rules."""
    laboratory.faults.clear()


def _state(rule: Rule) -> RuleState:
    return RuleState(number=rule.number, text=str(rule), seen=rule.seen, acted=rule.acted, exhausted=rule.exhausted)
