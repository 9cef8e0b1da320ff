"""Parser for rules in files and request bodies: which requests, what happens to them, and when."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults import assignments
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
)  # methods of `RuleBuilder`
TRIGGER_FIELDS = ("times", "nth", "probability")
EXAMPLES = {"match": "{api: Heartbeat, group: billing}", "with": "{seconds: 2}"}
CHANGES = {
    "nothing": assignments.NOTHING,
    "everything_to_everybody": assignments.everything_to_everybody(),
    "garbage": assignments.garbage(),
}  # assignments that `assign` accepts by name; the alternative is a table of members and partitions


def parse_rule(faults: Faults, fields: Mapping[str, Any]) -> Rule:
    """Add a rule from `{"match": {…}, "do": "delay", "with": {"seconds": 2}, "times": 1}`.

    Args:
        fields: `match` has the conditions of `Match`, and `with` the arguments of the action in `do`.

    Raises:
        ControlError: A field is unknown or invalid.
    """
    for name in fields:
        if name not in ("match", "do", "with", *TRIGGER_FIELDS):
            raise unknown("rule field", name, ("match", "do", "with", *TRIGGER_FIELDS))
    word = fields.get("do")
    if word not in DO:
        raise unknown("action", word, DO)
    builder = faults.on(**_table(fields, "match"))
    arguments = _table(fields, "with")
    if word == "assign":
        arguments = {"change": _change(arguments)}
    parameters = {name for name in signature(getattr(RuleBuilder, word)).parameters if name not in ("self", "options")}
    for name in arguments:
        if name not in parameters:
            raise unknown(f"argument of {word}", name, parameters or {"(none)"})
    options = {name: fields[name] for name in TRIGGER_FIELDS if fields.get(name) is not None}
    try:
        rule: Rule = getattr(builder, word)(**arguments, **options)
    except TypeError:
        raise ControlError(f"{word} requires {', '.join(sorted(parameters))} in `with`") from None
    return rule


def _table(fields: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return a part of a rule without null values, which count as omitted."""
    values = fields.get(part)
    if values is not None and not isinstance(values, Mapping):
        raise ControlError(f"{part} must be a table, as in {part}: {EXAMPLES[part]}; got {values!r}")
    return {str(name): value for name, value in (values or {}).items() if value is not None}


def _change(arguments: Mapping[str, Any]) -> assignments.Change:
    shares = arguments.get("shares")
    if isinstance(shares, str):
        if shares not in CHANGES:
            raise unknown("assignment", shares, CHANGES)
        return CHANGES[shares]
    if not isinstance(shares, Mapping):
        raise ControlError(f"assign requires shares: one of {', '.join(CHANGES)}, or partitions by member id and topic")
    return assignments.exactly(shares)
