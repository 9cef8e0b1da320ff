"""Rules as a file or a request states them: which requests, what happens to them, and when."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from kohort.control import assignments
from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults.rule_builder import RuleBuilder
from kohort.control.faults.rules import Rule
from kohort.control.faults.table import Faults

DO = (
    "count",
    "error",
    "drop",
    "hold",
    "lose_response",
    "close",
    "close_after_handling",
    "truncate",
    "delay",
    "delay_response",
    "assign",
    "deny",
    "hide_node",
    "stale_metadata",
    "as_kafka",
    "zombie",
)
"""The words of `RuleBuilder`."""
WHEN = ("times", "nth", "probability")
EXAMPLES = {"match": "{api: Heartbeat, group: billing}", "with": "{seconds: 2}"}
CHANGES = {
    "nothing": assignments.NOTHING,
    "everything_to_everybody": assignments.everything_to_everybody(),
    "garbage": assignments.garbage(),
}
"""What `assign` may get in a word; members and partitions are given as a table instead."""


def parse_rule(faults: Faults, fields: Mapping[str, Any]) -> Rule:
    """A rule from `{"match": {…}, "do": "delay", "with": {"seconds": 2}, "times": 1}`. Raises ControlError.

    `match` holds the conditions of `Match`, `with` the arguments of the word in `do`.
    """
    for name in fields:
        if name not in ("match", "do", "with", *WHEN):
            raise unknown("part of a rule", name, ("match", "do", "with", *WHEN))
    word = fields.get("do")
    if word not in DO:
        raise unknown("thing to do", word, DO)
    builder = faults.on(**_given(fields, "match"))
    arguments = _given(fields, "with")
    if word == "assign":
        arguments = {"change": _change(arguments)}
    wanted = {name for name in signature(getattr(RuleBuilder, word)).parameters if name not in ("self", "when")}
    for name in arguments:
        if name not in wanted:
            raise unknown(f"argument of {word}", name, wanted or {"(none)"})
    when = {name: fields[name] for name in WHEN if fields.get(name) is not None}
    try:
        rule: Rule = getattr(builder, word)(**arguments, **when)
    except TypeError:
        raise ControlError(f"{word} needs {', '.join(sorted(wanted))}; say so in `with`") from None
    return rule


def _given(fields: Mapping[str, Any], part: str) -> dict[str, Any]:
    """A part of a rule, without what is null: left out, that is."""
    values = fields.get(part)
    if values is not None and not isinstance(values, Mapping):
        raise ControlError(f"{part} is a table, as in {part}: {EXAMPLES[part]}, not {values!r}")
    return {str(name): value for name, value in (values or {}).items() if value is not None}


def _change(arguments: Mapping[str, Any]) -> assignments.Change:
    shares = arguments.get("shares")
    if isinstance(shares, str):
        if shares not in CHANGES:
            raise unknown("assignment", shares, CHANGES)
        return CHANGES[shares]
    if not isinstance(shares, Mapping):
        raise ControlError(f"assign wants shares: one of {', '.join(CHANGES)}, or partitions by member id and topic")
    return assignments.exactly(shares)
