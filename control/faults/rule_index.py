"""Index of rules, so that a request is compared only with rules that may match it.

A laboratory may have a thousand rules, for as many groups or clients. The key of each is its stage, its API and a text
that it requires: a group, client id, instance or member, or a prefix of it. A rule without such a text is compared with
all requests of its API.
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

# a rule's key has the first of these that it requires; there are usually more groups than clients
FIELDS = ("group", "client_id", "instance", "member")
NO_FIELD = ""
WHOLE = -1  # marks the whole text instead of a prefix length

_UP_TO_WILD = re.compile(r"[^*?\[]*")
_BY_NUMBER = attrgetter("number")


class _Key(NamedTuple):
    stage: str
    api: str
    field: str
    length: int
    text: str  # the prefix of the request's text


class RuleIndex:
    """All rules of a cluster, in the order of their numbers."""

    def __init__(self) -> None:
        self._rules: dict[int, Rule] = {}
        self._by_key: dict[_Key, dict[int, Rule]] = {}
        self._lengths: dict[str, Counter[int]] = {}  # the number of rules with each prefix length, by field

    def __iter__(self) -> Iterator[Rule]:
        return iter(list(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)

    def get(self, number: int) -> Rule | None:
        return self._rules.get(number)

    def add(self, rule: Rule) -> None:
        """Add a rule. Its number must be higher than those of the other rules."""
        key = _key_of(rule)
        self._rules[rule.number] = rule
        self._by_key.setdefault(key, {})[rule.number] = rule
        self._lengths.setdefault(key.field, Counter())[key.length] += 1

    def discard(self, rule: Rule) -> bool:
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
        """Return the rules that may match a request, in order. `Match.fits` makes the final check."""
        if not self._rules:
            return []
        candidates: list[Rule] = []
        several = False
        for name in (facts.api, ANY):
            for field, lengths in self._lengths.items():
                for text in _texts(field, facts) if lengths else ():
                    for length in lengths:
                        part = text if length == WHOLE else text[:length]
                        rules = self._by_key.get(_Key(stage, name, field, length, part))
                        if rules is not None:
                            several = bool(candidates)
                            candidates += rules.values()
        if several:  # without duplicates, as several names of a member may have the same prefix
            return sorted(dict.fromkeys(candidates), key=_BY_NUMBER)
        return candidates


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
    if field == "group":
        return (facts.group,)
    if field == "client_id":
        return (facts.client_id,)
    if field == "instance":
        return dict.fromkeys(facts.instances)
    if field == "member":
        return dict.fromkeys(facts.names)
    return ("",)
