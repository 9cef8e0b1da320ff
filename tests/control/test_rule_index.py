"""Rules are found by their conditions (`kohort.control.faults.rule_index`), and none is missed."""

from random import Random
from typing import Any

import pytest

from kohort.control.faults.actions import Drop, Refuse
from kohort.control.faults.matching import Match
from kohort.control.faults.table import Faults
from kohort.control.faults.triggers import Trigger
from kohort.control.gates.gate_points import ANSWER, REQUEST
from kohort.control.request_facts import RequestFacts
from tests.control.talking import Lab
from tests.support.seeds import seeds

NAMES = ("a", "b", "ab", "abc", "")
PATTERNS = (*NAMES, "*", "?", "[ab]", "a*", "ab*", "a?c", "*c")
APIS = ("Heartbeat", "LeaveGroup")


class Said(RequestFacts):
    """Request of a client."""

    __slots__ = ("_api",)

    def __init__(self, chance: Random) -> None:
        count = chance.randint(1, 3)
        self._api = chance.choice(APIS)
        self.node, self.generation = 0, 1
        self.group, self.client_id = chance.choice(NAMES), chance.choice(NAMES)
        self.members = tuple(chance.choices(NAMES, k=count))
        self.instances = tuple(chance.choices(NAMES, k=count))

    @property
    def api(self) -> str:
        return self._api

    @property
    def state(self) -> str:
        return "Stable"


@pytest.mark.parametrize("seed", seeds(3))
def test_matching_rules_keep_their_order(seed: int) -> None:
    chance = Random(seed)
    faults = Faults(Random(0), (), (0,))
    for _ in range(200):
        values: dict[str, Any] = {
            field: chance.choice(PATTERNS)
            for field in ("group", "client_id", "instance", "member")
            if chance.random() < 0.4
        }
        if chance.random() < 0.7:
            values["api"] = chance.choice(APIS)
        faults.add(Match.of(values), chance.choice((Refuse.by_name("NOT_COORDINATOR"), Drop(ANSWER))), Trigger())
        if chance.random() < 0.3:
            faults.remove(chance.choice(list(faults)).number)
    for _ in range(300):
        facts = Said(chance)
        for stage in (REQUEST, ANSWER):
            fitting = [rule for rule in faults if rule.action.stage == stage and rule.match.fits(facts)]
            assert [rule for rule in faults._rules.of(stage, facts) if rule.match.fits(facts)] == fitting


def test_unrelated_rules_are_skipped(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.talk("given ada shares a stable group")
    for number in range(1_000):
        lab.faults.on("Heartbeat", group=f"other-{number}").error("NOT_COORDINATOR")
        lab.faults.on(client_id=f"other-{number}").drop()
        lab.faults.on(member=f"other-{number}-*").drop()
    looked: list[Match] = []
    fits = Match.fits

    def look(match: Match, facts: RequestFacts) -> bool:
        looked.append(match)
        return fits(match, facts)

    monkeypatch.setattr(Match, "fits", look)
    lab.talk("""
        ada Heartbeat v4 {generation_id: 1}
          <- NONE
        """)
    assert not looked
