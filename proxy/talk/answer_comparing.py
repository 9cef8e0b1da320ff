"""Comparison of a recorded and a received response, apart from ids and from offsets of generations and epochs."""

from __future__ import annotations

from typing import Final

from kohort.proxy.talk.bindings import Bindings, Owner, numbered
from kohort.proxy.talk.id_names import NAMED
from kohort.proxy.talk.talk_values import Value, show

IN_ORDER: Final = frozenset({"coordinators"})
"""Lists of structures with a meaningful order; others are compared in any order."""


def differences(expected: Value, received: Value, bindings: Bindings, owner: Owner, path: str = "") -> list[str]:
    """Return the differences, one line each. Without differences, `bindings` learns new ids and numbers."""
    trial = bindings.trial()
    lines = _differences(expected, received, trial, owner, path)
    if not lines:
        bindings.take(trial)
    return lines


def learn(expected: Value, received: Value, bindings: Bindings, owner: Owner) -> None:
    """Bind the ids of a response that differs elsewhere, because later requests contain them."""
    if isinstance(expected, dict) and isinstance(received, dict):
        owner = owner.within(expected)
        for field, value in expected.items():
            if field in NAMED:
                bindings.is_same_id(value, received.get(field))
            elif numbered(field, value, owner) and numbered(field, received.get(field), owner):
                _is_same(field, value, received[field], bindings, owner)
            else:
                learn(value, received.get(field), bindings, owner)


def _differences(expected: Value, received: Value, bindings: Bindings, owner: Owner, path: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(received, dict):
        return _compare_fields(expected, received, bindings, owner.within(expected), path)
    if isinstance(expected, list) and isinstance(received, list):
        return _compare_lists(expected, received, bindings, owner, path)
    field = path.rpartition(".")[2].partition("[")[0]
    if _is_same(field, expected, received, bindings, owner):
        return []
    adjusted = _as_here(field, expected, bindings, owner)
    return [f"{path}: expected {show(adjusted)}, received {show(_named(field, received, bindings))}"]


def _compare_fields(
    expected: dict[str, Value], received: dict[str, Value], bindings: Bindings, owner: Owner, path: str
) -> list[str]:
    lines = []
    for field in expected | received:
        inner = f"{path}.{field}" if path else field
        if field not in received:
            adjusted = _as_here(field, expected[field], bindings, owner)
            lines.append(f"{inner}: expected {show(adjusted)}, received nothing")
        elif field not in expected:
            lines.append(f"{inner}: expected nothing, received {show(_named(field, received[field], bindings))}")
        else:
            lines += _differences(expected[field], received[field], bindings, owner, inner)
    return lines


def _compare_lists(
    expected: list[Value], received: list[Value], bindings: Bindings, owner: Owner, path: str
) -> list[str]:
    if len(expected) != len(received):
        return [f"{path}: expected {len(expected)} entries, received {len(received)}"]
    if path.rpartition(".")[2] in IN_ORDER or not any(isinstance(item, dict) for item in expected):
        return [
            line
            for index, (one, other) in enumerate(zip(expected, received, strict=True))
            for line in _differences(one, other, bindings, owner, f"{path}[{index}]")
        ]
    return _compare_in_any_order(expected, received, bindings, owner, path)


def _compare_in_any_order(
    expected: list[Value], received: list[Value], bindings: Bindings, owner: Owner, path: str
) -> list[str]:
    """Match each entry with the first equal one; entries with known ids are matched first."""
    lines, rest = [], list(received)
    for one in sorted(expected, key=lambda item: _new_names(item, bindings)):
        inner = f"{path}[{expected.index(one)}]"
        closest = _closest(one, rest, bindings, owner, inner)
        lines += differences(one, rest.pop(closest), bindings, owner, inner)
    return lines


def _closest(one: Value, candidates: list[Value], bindings: Bindings, owner: Owner, path: str) -> int:
    """Return the index of the entry with the fewest differences."""
    if (index_of_known := _index_of_known(one, candidates, bindings)) is not None:
        return index_of_known
    least, closest = -1, 0
    for index, other in enumerate(candidates):
        differs = len(_differences(one, other, bindings.trial(), owner, path))
        if not differs:
            return index
        if least < 0 or differs < least:
            least, closest = differs, index
    return closest


def _index_of_known(one: Value, candidates: list[Value], bindings: Bindings) -> int | None:
    """Return the index of the entry about the same member or topic, if its id is known already."""
    for field, name in one.items() if isinstance(one, dict) else ():
        value = bindings.value_of(name) if field in NAMED and isinstance(name, str) else None
        if value is not None:
            matches = (
                index for index, other in enumerate(candidates) if isinstance(other, dict) and other.get(field) == value
            )
            return next(matches, None)
    return None


def _new_names(values: Value, bindings: Bindings) -> int:
    if isinstance(values, dict):
        return sum(_new_names(value, bindings) for value in values.values())
    if isinstance(values, list):
        return sum(_new_names(value, bindings) for value in values)
    return int(isinstance(values, str) and values.startswith("$") and bindings.value_of(values) is None)


def _is_same(field: str, expected: Value, received: Value, bindings: Bindings, owner: Owner) -> bool:
    if field in NAMED:
        return bindings.is_same_id(expected, received)
    key = numbered(field, expected, owner)
    if key is not None and numbered(field, received, owner) is not None:
        return bindings.is_same_number(key, expected, received)
    return type(expected) is type(received) and bool(expected == received)


def _as_here(field: str, expected: Value, bindings: Bindings, owner: Owner) -> Value:
    key = numbered(field, expected, owner)
    return expected if key is None else expected + (bindings.apart(key) or 0)


def _named(field: str, received: Value, bindings: Bindings) -> Value:
    return (bindings.name_of(received) or received) if field in NAMED else received
