"""Compares expected and received values.

`_` is anything; `$name` is bound to the first value it meets; `10..20` is a range; `~pattern` a regular expression,
in which UUID matches a UUID; a list that ends in `...` may be longer. Fields that are not mentioned are not compared.
"""

from __future__ import annotations

import re

from tests.talk.shares import Shares
from tests.talk.values import BUILT, NAME, Value, fill, show, to_bytes

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")

IN_ORDER = {
    ("LeaveGroup", "members"),
    ("FindCoordinator", "coordinators"),
    ("Fetch", "records"),
    ("ShareFetch", "records"),
    ("GroupLog", "records"),
}  # lists of structures in which the order matters; others are compared in any order

Names = dict[str, Value]


def differences(api: str, expected: Value, heard: Value, names: Names, path: str = "") -> list[str]:
    """Return the differences, one line each. Bind new names in `names` if the result is empty."""
    trial = dict(names)
    if isinstance(heard, Shares) and isinstance(expected, dict):
        found = _compare_shares(api, expected, heard, trial, path)
    elif isinstance(expected, dict) and isinstance(heard, dict):
        found = _compare_fields(api, expected, heard, trial, path)
    elif isinstance(expected, list) and isinstance(heard, list):
        found = _compare_lists(api, expected, heard, trial, path)
    elif _same(expected, heard, trial):
        found = []
    else:
        found = [f"{path}: expected {show(fill(expected, names))}, received {show(heard)}"]
    if not found:
        names.update(trial)
    return found


def _compare_fields(api: str, expected: Value, heard: Value, names: Names, path: str) -> list[str]:
    found = []
    for key, value in expected.items():
        inner = f"{path}.{key}" if path else str(key)
        if key in heard:
            found += differences(api, value, heard[key], names, inner)
        else:
            found.append(f"{inner}: expected {show(value)}, but the answer has no such field")
    return found


def _compare_shares(api: str, expected: Value, heard: Shares, names: Names, path: str) -> list[str]:
    if "topic_partitions" in expected:
        return differences(api, expected["topic_partitions"], heard.travelled, names, path)
    wanted = {fill(topic, names): partitions for topic, partitions in expected.items()}
    if wanted.keys() != heard.keys():
        return [f"{path}: expected {show(wanted)}, received {show(heard)}"]
    return _compare_fields(api, wanted, dict(heard), names, path)


def _compare_lists(api: str, expected: list[Value], heard: list[Value], names: Names, path: str) -> list[str]:
    open_ended = expected[-1:] == ["..."]
    wanted = expected[:-1] if open_ended else expected
    if len(heard) < len(wanted) or (len(heard) > len(wanted) and not open_ended):
        return [f"{path}: expected {len(wanted)} entries, received {len(heard)}: {show(heard)}"]
    name = path.rpartition(".")[2]
    if open_ended or ((api, name) not in IN_ORDER and wanted and isinstance(wanted[0], dict)):
        return _compare_in_any_order(api, wanted, heard, names, path)
    found = []
    for index, (value, other) in enumerate(zip(wanted, heard, strict=True)):
        found += differences(api, value, other, names, f"{path}[{index}]")
    return found


def _compare_in_any_order(api: str, wanted: list[Value], heard: list[Value], names: Names, path: str) -> list[str]:
    assigned = _assign(api, wanted, heard, names, path)
    if assigned is not None:
        names.update(assigned)
        return []
    found = []
    rest = list(heard)
    for index, value in enumerate(wanted):  # what comes closest, for the reader
        trials = [differences(api, value, other, dict(names), f"{path}[{index}]") for other in rest]
        best = min(range(len(rest)), key=lambda number: len(trials[number]))
        found += trials[best]
        differences(api, value, rest.pop(best), names)
    return found or [f"{path}: expected {show(wanted)} in some order, received {show(heard)}"]


def _assign(api: str, wanted: list[Value], heard: list[Value], names: Names, path: str) -> Names | None:
    """Return new names that match each expected value with a received one, or None if that is impossible."""
    if not wanted:
        return names
    for number, other in enumerate(heard):
        trial = dict(names)
        if not differences(api, wanted[0], other, trial, path):
            rest = _assign(api, wanted[1:], heard[:number] + heard[number + 1 :], trial, path)
            if rest is not None:
                return rest
    return None


def _same(expected: Value, heard: Value, names: Names) -> bool:
    if expected == "_":
        return True
    if isinstance(expected, str):
        name = NAME.fullmatch(expected)
        if name:
            expected = names.setdefault(name[1], heard)
        elif isinstance(heard, int) and (span := RANGE.fullmatch(expected)):
            return int(span[1]) <= heard <= int(span[2])
        elif expected.startswith("~"):
            pattern = fill(expected[1:], names).replace("UUID", UUID)
            return isinstance(heard, str) and re.fullmatch(pattern, heard, re.DOTALL) is not None
        else:
            expected = fill(expected, names)
            if isinstance(heard, str) and BUILT.fullmatch(expected):
                return to_bytes(expected) == to_bytes(heard)
    return type(expected) is type(heard) and expected == heard
