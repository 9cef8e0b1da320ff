"""An answer that was recorded against one that is heard: what differs, but for ids and what they are counted from."""

from __future__ import annotations

from typing import Final

from kohort.proxy.talk.bindings import Bindings, Whose, numbered
from kohort.proxy.talk.id_names import NAMED
from kohort.proxy.talk.talk_values import Value, show

IN_ORDER: Final = frozenset({"coordinators"})
"""Lists of structures whose order says something; others are compared in any order."""


def differences(expected: Value, heard: Value, bindings: Bindings, whose: Whose, path: str = "") -> list[str]:
    """What differs, a line each. `bindings` learns what is met for the first time, unless something differs."""
    trial = bindings.trial()
    found = _differences(expected, heard, trial, whose, path)
    if not found:
        bindings.take(trial)
    return found


def learn(expected: Value, heard: Value, bindings: Bindings, whose: Whose) -> None:
    """Takes the ids of an answer that differs elsewhere: what follows is asked about them."""
    if isinstance(expected, dict) and isinstance(heard, dict):
        whose = whose.within(expected)
        for field, value in expected.items():
            if field in NAMED:
                bindings.is_same_id(value, heard.get(field))
            elif numbered(field, value, whose) and numbered(field, heard.get(field), whose):
                _is_same(field, value, heard[field], bindings, whose)
            else:
                learn(value, heard.get(field), bindings, whose)


def _differences(expected: Value, heard: Value, bindings: Bindings, whose: Whose, path: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(heard, dict):
        return _compare_fields(expected, heard, bindings, whose.within(expected), path)
    if isinstance(expected, list) and isinstance(heard, list):
        return _compare_lists(expected, heard, bindings, whose, path)
    field = path.rpartition(".")[2].partition("[")[0]
    if _is_same(field, expected, heard, bindings, whose):
        return []
    shown = _as_here(field, expected, bindings, whose)
    return [f"{path}: expected {show(shown)}, heard {show(_named(field, heard, bindings))}"]


def _compare_fields(
    expected: dict[str, Value], heard: dict[str, Value], bindings: Bindings, whose: Whose, path: str
) -> list[str]:
    found = []
    for field in expected | heard:
        inner = f"{path}.{field}" if path else field
        if field not in heard:
            shown = _as_here(field, expected[field], bindings, whose)
            found.append(f"{inner}: expected {show(shown)}, heard nothing")
        elif field not in expected:
            found.append(f"{inner}: expected nothing, heard {show(_named(field, heard[field], bindings))}")
        else:
            found += _differences(expected[field], heard[field], bindings, whose, inner)
    return found


def _compare_lists(expected: list[Value], heard: list[Value], bindings: Bindings, whose: Whose, path: str) -> list[str]:
    if len(expected) != len(heard):
        return [f"{path}: expected {len(expected)} entries, heard {len(heard)}"]
    if path.rpartition(".")[2] in IN_ORDER or not any(isinstance(each, dict) for each in expected):
        return [
            line
            for index, (one, other) in enumerate(zip(expected, heard, strict=True))
            for line in _differences(one, other, bindings, whose, f"{path}[{index}]")
        ]
    return _compare_in_any_order(expected, heard, bindings, whose, path)


def _compare_in_any_order(
    expected: list[Value], heard: list[Value], bindings: Bindings, whose: Whose, path: str
) -> list[str]:
    """Each goes with the first that is alike; those with names that are known already choose first."""
    found, rest = [], list(heard)
    for one in sorted(expected, key=lambda each: _new_names(each, bindings)):
        inner = f"{path}[{expected.index(one)}]"
        closest = _closest(one, rest, bindings, whose, inner)
        found += differences(one, rest.pop(closest), bindings, whose, inner)
    return found


def _closest(one: Value, others: list[Value], bindings: Bindings, whose: Whose, path: str) -> int:
    """The index of the one that differs least: the first that does not differ at all, if there is one."""
    if (index_of_known := _known(one, others, bindings)) is not None:
        return index_of_known
    least, closest = -1, 0
    for index, other in enumerate(others):
        differs = len(_differences(one, other, bindings.trial(), whose, path))
        if not differs:
            return index
        if least < 0 or differs < least:
            least, closest = differs, index
    return closest


def _known(one: Value, others: list[Value], bindings: Bindings) -> int | None:
    """The index of the one about the same member, or topic, if that is known already."""
    for field, name in one.items() if isinstance(one, dict) else ():
        known = bindings.value_of(name) if field in NAMED and isinstance(name, str) else None
        if known is not None:
            found = (
                index for index, other in enumerate(others) if isinstance(other, dict) and other.get(field) == known
            )
            return next(found, None)
    return None


def _new_names(values: Value, bindings: Bindings) -> int:
    if isinstance(values, dict):
        return sum(_new_names(each, bindings) for each in values.values())
    if isinstance(values, list):
        return sum(_new_names(each, bindings) for each in values)
    return int(isinstance(values, str) and values.startswith("$") and bindings.value_of(values) is None)


def _is_same(field: str, expected: Value, heard: Value, bindings: Bindings, whose: Whose) -> bool:
    if field in NAMED:
        return bindings.is_same_id(expected, heard)
    key = numbered(field, expected, whose)
    if key is not None and numbered(field, heard, whose) is not None:
        return bindings.is_same_number(key, expected, heard)
    return type(expected) is type(heard) and bool(expected == heard)


def _as_here(field: str, expected: Value, bindings: Bindings, whose: Whose) -> Value:
    key = numbered(field, expected, whose)
    return expected if key is None else expected + (bindings.apart(key) or 0)


def _named(field: str, heard: Value, bindings: Bindings) -> Value:
    return (bindings.name_of(heard) or heard) if field in NAMED else heard
