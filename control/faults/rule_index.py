"""Rules by what they ask for, so that a request is compared with those only that may be for it.

A laboratory may have a thousand rules, for as many groups or clients. Each is filed under its stage, its API and a text
that it wants: a group, a client id, an instance or a member, or how that begins. A rule without such a text is compared
with all requests of its API.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from kohort.control.faults.matching import ANY
from kohort.control.faults.rules import Rule
from kohort.control.request_facts import RequestFacts

FIELDS = ("group", "client_id", "instance", "member")
"""What a rule is filed under, the first that it names: there are more groups than clients, usually."""
NO_FIELD = ""
WHOLE = -1
"""In place of the length of a beginning: the text as it stands."""

_UP_TO_WILD = re.compile(r"[^*?\[]*")
_BY_NUMBER = attrgetter("number")


class _Key(NamedTuple):
    stage: str
    api: str
    field: str
    length: int
    text: str
    """So much of what the request says there."""


class RuleIndex:
    """All rules of a cluster. Keeps their order, which is that of their numbers."""

    def __init__(self) -> None:
        self._rules: dict[int, Rule] = {}
        self._by_key: dict[_Key, dict[int, Rule]] = {}
        self._lengths: dict[str, Counter[int]] = {}
        """Under each field that a rule is filed under: the lengths, and how many rules have each."""

    def __iter__(self) -> Iterator[Rule]:
        return iter(list(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def get(self, number: int) -> Rule | None:
        """The rule of that number, if it is there."""
        return self._rules.get(number)

    def add(self, rule: Rule) -> None:
        """One that has a higher number than those that are there."""
        key = _key_of(rule)
        self._rules[rule.number] = rule
        self._by_key.setdefault(key, {})[rule.number] = rule
        self._lengths.setdefault(key.field, Counter())[key.length] += 1

    def discard(self, rule: Rule) -> bool:
        """Takes a rule away. Returns whether it was there."""
        if self._rules.pop(rule.number, None) is None:
            return False
        key = _key_of(rule)
        rules, lengths = self._by_key[key], self._lengths[key.field]
        del rules[rule.number]
        if not rules:
            del self._by_key[key]
        lengths[key.length] -= 1
        if not lengths[key.length]:
            del lengths[key.length]
        return True

    def of(self, stage: str, facts: RequestFacts) -> list[Rule]:
        """Those that may be for a request, in order; `Match.fits` says of each whether it is."""
        if not self._rules:
            return []
        found: list[Rule] = []
        several = False
        for name in (facts.api, ANY):
            for field, lengths in self._lengths.items():
                for text in _texts(field, facts) if lengths else ():
                    for length in lengths:
                        part = text if length == WHOLE else text[:length]
                        rules = self._by_key.get(_Key(stage, name, field, length, part))
                        if rules is not None:
                            several = bool(found)
                            found += rules.values()
        if several:  # each once: names of a member may begin alike
            return sorted(dict.fromkeys(found), key=_BY_NUMBER)
        return found


def _key_of(rule: Rule) -> _Key:
    match = rule.match
    for field in FIELDS:
        pattern: str | None = getattr(match, field)
        if pattern:
            begin = _UP_TO_WILD.match(pattern)
            if begin is not None and begin[0]:
                length = WHOLE if begin[0] == pattern else len(begin[0])
                return _Key(rule.action.stage, match.api, field, length, begin[0])
    return _Key(rule.action.stage, match.api, NO_FIELD, WHOLE, "")


def _texts(field: str, facts: RequestFacts) -> Iterable[str]:
    """What a request says there, each text once."""
    if field == "group":
        return (facts.group,)
    if field == "client_id":
        return (facts.client_id,)
    if field == "instance":
        return dict.fromkeys(facts.instances)
    if field == "member":
        return dict.fromkeys(facts.names)
    return ("",)
