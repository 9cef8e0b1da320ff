"""Appends: rules that let writes of coordinators fail, delay them, or hold them."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.control_errors import ControlError
from kohort.control.faults.appends import AppendRule
from kohort.control.faults.rule_builder import When
from kohort.control.http.body import Body
from kohort.control.http.documenting import NOT_THERE, refusals
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.http.views import view

router = APIRouter(prefix="/appends", tags=["appends"])


class NewAppendRule(Body):
    """Which appends are affected, how, and when."""

    kind: Literal["group", "commit", "share_state"] | None = Field(
        None,
        description="a group with its assignment, offsets, or the states of a share group's records; null: all",
    )
    group: str | None = Field(None, description="may contain * and ?; null: all groups")
    do: Literal["hold", "delay", "fail"] = Field(
        description="hold, delay: it is written, and the coordinator is notified later; fail: it is not written"
    )
    seconds: float | None = Field(None, ge=0, description="duration of a delay, by the brokers' clock")
    error: str = Field("NOT_ENOUGH_REPLICAS", description="for a failure: the error of the storage, by Kafka's name")
    times: int | None = Field(None, ge=1, description="maximum number of appends that are affected")
    nth: int | None = Field(
        None, ge=1, description="from the n-th append on; without other conditions: that append only"
    )
    probability: float | None = Field(None, gt=0, le=1)


class AppendRuleState(BaseModel):
    """An active rule."""

    number: int
    text: str
    acted: int = Field(description="number of affected appends")
    held: int = Field(description="number of appends that are written and not reported")


@router.get("")
async def list_rules(laboratory: TheLaboratory) -> list[AppendRuleState]:
    """List the rules in the order in which they are applied."""
    return [_state(rule) for rule in laboratory.appends.rules]


@router.post("", status_code=201)
async def add(rule: NewAppendRule, laboratory: TheLaboratory) -> AppendRuleState:
    """Add a rule."""
    triggers = {"times": rule.times, "nth": rule.nth, "probability": rule.probability}
    options = When(**{name: value for name, value in triggers.items() if value is not None})  # type: ignore[typeddict-item]
    builder = laboratory.appends.of(rule.kind, rule.group)
    if rule.do == "hold":
        return _state(builder.hold(**options))
    if rule.do == "fail":
        return _state(builder.fail(rule.error, **options))
    if rule.seconds is None:
        raise ControlError("a delay requires `seconds`, the time for which the report of a write is held back")
    return _state(builder.delay(rule.seconds, **options))


@router.post("/{number}/release", responses=refusals(NOT_THERE))
async def release(number: int, laboratory: TheLaboratory) -> AppendRuleState:
    """Report the appends that a rule holds; the rule remains active."""
    rule = laboratory.appends.find(number)
    rule.release()
    return _state(rule)


@router.delete("/{number}", responses=refusals(NOT_THERE))
async def remove(number: int, laboratory: TheLaboratory) -> None:
    """Remove a rule, and report the appends that it holds."""
    laboratory.appends.find(number).remove()


@router.delete("")
async def clear(laboratory: TheLaboratory) -> None:
    """Remove all rules."""
    laboratory.appends.clear()


def _state(rule: AppendRule) -> AppendRuleState:
    return view(AppendRuleState, rule, text=str(rule))
