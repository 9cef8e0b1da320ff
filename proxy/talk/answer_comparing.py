"""Comparison of an expected and a received response, for recordings and for the conversations of tests."""

from __future__ import annotations

from typing import Final, Self

from kohort.proxy.talk.talk_values import Value, show

IN_ORDER: Final = frozenset(
    {
        ("LeaveGroup", "members"),
        ("FindCoordinator", "coordinators"),
        ("Fetch", "records"),
        ("ShareFetch", "records"),
        ("GroupLog", "records"),
    }
)
"""Lists of structures with a meaningful order, by API and field; others are compared in any order."""

OPEN_END: Final = "..."

MAX_SEARCHED: Final = 8  # longest list of which all orders are tried, if no order is found at once

_MAX_SHOWN: Final = 300


class Expectations:
    """How single values are expected, with the values of names so far.

    The base class has the rules of a complete response: each field and each entry of a list is expected.
    """

    is_partial = False  # whether fields may be left out, and further entries with `...`

    def trial(self) -> Self:
        """Return a copy whose additions do not affect this one before `take`."""
        raise NotImplementedError

    def take(self, trial: Self) -> None:
        """Take over the additions of a trial."""
        raise NotImplementedError

    def is_same(self, field: str, expected: Value, received: Value) -> bool:
        """Compare two values that are not both mappings or both lists. A new name gets the received value."""
        raise NotImplementedError

    def is_unspecific(self, expected: Value) -> bool:
        """Return whether a single value may match several received ones, as a new name does."""
        raise NotImplementedError

    def within(self, expected: dict[str, Value]) -> Self:
        """Return the expectations for the fields of a structure, with the same names."""
        return self

    def known_id(self, field: str, expected: Value) -> Value:
        """Return the value if it identifies an entry of a list, or None."""
        return None

    def prepared(self, expected: Value, received: Value) -> tuple[Value, Value]:
        """Return the values to compare in place of these."""
        return expected, received

    def is_complete(self, received: dict[str, Value]) -> bool:
        """Return whether all fields of a received structure must be expected."""
        return not self.is_partial

    def show_expected(self, field: str, expected: Value) -> str:
        return show(expected)

    def show_received(self, field: str, received: Value) -> str:
        return show(received)


def differences(api: str, expected: Value, received: Value, names: Expectations, path: str = "") -> list[str]:
    """Return the differences, one line each. Without differences, `names` takes new names and numbers."""
    trial = names.trial()
    lines = _differences(api, expected, received, trial, path)
    if not lines:
        names.take(trial)
    return lines


def _differences(api: str, expected: Value, received: Value, names: Expectations, path: str) -> list[str]:
    expected, received = names.prepared(expected, received)
    if isinstance(expected, dict) and isinstance(received, dict):
        return _compare_fields(api, expected, received, names.within(expected), path)
    if isinstance(expected, list) and isinstance(received, list):
        return _compare_lists(api, expected, received, names, path)
    field = _field_of(path)
    if names.is_same(field, expected, received):
        return []
    return [f"{path}: expected {names.show_expected(field, expected)}, received {names.show_received(field, received)}"]


def _field_of(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def _compare_fields(
    api: str, expected: dict[str, Value], received: dict[str, Value], names: Expectations, path: str
) -> list[str]:
    lines = []
    for field in expected | received if names.is_complete(received) else expected:
        inner = f"{path}.{field}" if path else str(field)
        if field not in received:
            lines.append(f"{inner}: expected {names.show_expected(field, expected[field])}, received nothing")
        elif field not in expected:
            lines.append(f"{inner}: expected nothing, received {names.show_received(field, received[field])}")
        else:
            lines += _differences(api, expected[field], received[field], names, inner)
    return lines


def _compare_lists(api: str, expected: list[Value], received: list[Value], names: Expectations, path: str) -> list[str]:
    is_open = names.is_partial and expected[-1:] == [OPEN_END]
    entries = expected[:-1] if is_open else expected
    if len(received) < len(entries) or (len(received) > len(entries) and not is_open):
        content = f": {show(received)[:_MAX_SHOWN]}" if received else ""
        return [f"{path}: expected {len(entries)} entries, received {len(received)}{content}"]
    has_order = (api, path.rpartition(".")[2]) in IN_ORDER or not any(isinstance(entry, dict) for entry in entries)
    if is_open or not has_order:
        return _compare_in_any_order(api, entries, received, names, path)
    return [
        line
        for index, (entry, other) in enumerate(zip(entries, received, strict=True))
        for line in _differences(api, entry, other, names, f"{path}[{index}]")
    ]


def _compare_in_any_order(
    api: str, expected: list[Value], received: list[Value], names: Expectations, path: str
) -> list[str]:
    trial = names.trial()
    lines = _match_closest(api, expected, received, trial, path)
    if lines and len(expected) <= MAX_SEARCHED:
        other_order = names.trial()
        if _match_all(api, expected, received, other_order, path):
            lines, trial = [], other_order
    names.take(trial)
    return lines


def _match_closest(api: str, expected: list[Value], received: list[Value], names: Expectations, path: str) -> list[str]:
    """Match each entry with the first equal one, specific entries first, else with the most similar one."""
    lines, rest = [], list(received)
    for entry in sorted(expected, key=lambda entry: _count_unspecific(entry, names)):
        inner = f"{path}[{expected.index(entry)}]"
        lines += differences(api, entry, rest.pop(_closest(api, entry, rest, names, inner)), names, inner)
    return lines


def _match_all(api: str, expected: list[Value], received: list[Value], names: Expectations, path: str) -> bool:
    """Try all orders. Return whether each expected entry has a received one."""
    if not expected:
        return True
    for index, other in enumerate(received):
        trial = names.trial()
        if not _differences(api, expected[0], other, trial, path) and _match_all(
            api, expected[1:], received[:index] + received[index + 1 :], trial, path
        ):
            names.take(trial)
            return True
    return False


def _closest(api: str, entry: Value, candidates: list[Value], names: Expectations, path: str) -> int:
    """Return the index of the candidate with the fewest differences."""
    if (index_of_known := _index_of_known(entry, candidates, names)) is not None:
        return index_of_known
    least, closest = -1, 0
    for index, other in enumerate(candidates):
        count = len(_differences(api, entry, other, names.trial(), path))
        if not count:
            return index
        if least < 0 or count < least:
            least, closest = count, index
    return closest


def _index_of_known(entry: Value, candidates: list[Value], names: Expectations) -> int | None:
    """Return the index of the candidate about the same member or topic, if its id is known already."""
    for field, expected in entry.items() if isinstance(entry, dict) else ():
        value = names.known_id(field, expected)
        if value is not None:
            matches = (
                index for index, other in enumerate(candidates) if isinstance(other, dict) and other.get(field) == value
            )
            return next(matches, None)
    return None


def _count_unspecific(expected: Value, names: Expectations) -> int:
    if isinstance(expected, dict):
        return sum(_count_unspecific(value, names) for value in expected.values())
    if isinstance(expected, list):
        return sum(_count_unspecific(value, names) for value in expected)
    return int(names.is_unspecific(expected))
