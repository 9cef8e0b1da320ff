"""Appends: what coordinators write, to fail, to be slow, or to be held."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.appends import AppendRule
from kohort.control.body import Body
from kohort.control.control_errors import ControlError
from kohort.control.documenting import NOT_THERE, refusals
from kohort.control.endpoint_context import TheLaboratory
from kohort.control.faults.rule_builder import When
from kohort.control.views import view

router = APIRouter(prefix="/appends", tags=["appends"])


class NewAppendRule(Body):
    """Which appends, what happens to them, and when."""

    kind: Literal["group", "commit", "share_state"] | None = Field(
        None,
        description="a group with its assignment, offsets, or what has become of a share group's records; null: all",
    )
    group: str | None = Field(None, description="may hold * and ?; null: every group's")
    do: Literal["hold", "delay", "fail"] = Field(
        description="hold, delay: it is written, and the coordinator hears of it later; fail: it is not written"
    )
    seconds: float | None = Field(None, ge=0, description="of a delay, by the brokers' clock")
    error: str = Field("NOT_ENOUGH_REPLICAS", description="of a failure: what the storage says, by Kafka's name")
    times: int | None = Field(None, ge=1, description="so often and no more")
    nth: int | None = Field(None, ge=1, description="from the n-th append on; alone: that one only")
    probability: float | None = Field(None, gt=0, le=1)


class AppendRuleState(BaseModel):
    """A rule at work."""

    number: int
    text: str
    acted: int = Field(description="how many appends were spoiled")
    held: int = Field(description="how many are written and not reported")


@router.get("")
async def list_rules(laboratory: TheLaboratory) -> list[AppendRuleState]:
    """The rules, in the order in which they are tried."""
    return [_state(each) for each in laboratory.appends.rules]


@router.post("", status_code=201)
async def add(rule: NewAppendRule, laboratory: TheLaboratory) -> AppendRuleState:
    """Make a rule."""
    given = {"times": rule.times, "nth": rule.nth, "probability": rule.probability}
    when = When(**{name: value for name, value in given.items() if value is not None})  # type: ignore[typeddict-item]
    made = laboratory.appends.of(rule.kind, rule.group)
    if rule.do == "hold":
        return _state(made.hold(**when))
    if rule.do == "fail":
        return _state(made.fail(rule.error, **when))
    if rule.seconds is None:
        raise ControlError("a delay needs `seconds`: for how long the report of a write is held back")
    return _state(made.delay(rule.seconds, **when))


@router.post("/{number}/release", responses=refusals(NOT_THERE))
async def release(number: int, laboratory: TheLaboratory) -> AppendRuleState:
    """Report what a rule holds; it goes on holding."""
    rule = laboratory.appends.find(number)
    rule.release()
    return _state(rule)


@router.delete("/{number}", responses=refusals(NOT_THERE))
async def remove(number: int, laboratory: TheLaboratory) -> None:
    """End a rule: what it holds is reported."""
    laboratory.appends.find(number).remove()


@router.delete("")
async def clear(laboratory: TheLaboratory) -> None:
    """End all rules."""
    laboratory.appends.clear()


def _state(rule: AppendRule) -> AppendRuleState:
    return view(AppendRuleState, rule, text=str(rule))
