"""Makes docs/reference.md: every word that a test, a rule or a request may use, from the code that knows it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from _pytest.fixtures import FixtureFunctionDefinition

from kohort.broker.cluster.effect_execution import CAUSES
from kohort.control.any_group import UNKNOWN
from kohort.control.app import make_app
from kohort.control.faults.rule_builder import RuleBuilder
from kohort.control.faults.rule_parsing import DO
from kohort.control.gate_points import ANSWER, GATE_POINTS, LOAD, REQUEST
from kohort.control.routes.faults_routes import ABOUT
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.events.group_event import (
    CLIENT_KINDS,
    CONSUMER_KINDS,
    KINDS,
    RECORD_KINDS,
    SHARE_KINDS,
    STREAMS_KINDS,
)
from kohort.coordinator.share.share_group_state import ShareGroupState
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.protocol.errors import ErrorCode
from kohort.testing import plugin
from tests.control.talking import Lab
from tests.docs.sources import ROOT

REFERENCE = ROOT / "docs" / "reference.md"

STAGES = {
    REQUEST: "before the broker has seen the request",
    ANSWER: "before the client has heard the answer",
    LOAD: "at the end of a load",
}
STATES = {
    "Empty": "it has no members, perhaps offsets",
    "PreparingRebalance": "it waits for all members to join",
    "CompletingRebalance": "it waits for the leader's assignment",
    "Stable": "everybody has what it is to have",
    "Dead": "there is no such group",
    "Assigning": "the target assignment is still to be computed",
    "Reconciling": "some members do not have yet what they are to have",
    "NotReady": "topics that the topology needs are missing, or do not fit",
    UNKNOWN: "its coordinator still loads",
}
"""What each state says. The states are those of the code: one that is missing here is a KeyError."""


OF_ANY_GROUP = {"access_denied", "coordinator_elected", "coordinator_resigned"}
"""Kinds of events that do not depend on what a group is."""


def reference() -> str:
    """The page."""
    parts = [
        "# Reference",
        "",
        "Every word that a test, a rule or a request may use. The [laboratory](laboratory.md) tells what they are for,",
        "the [cookbook](cookbook.md) shows them at work.",
        "",
        "<!-- made by `python -m tests.docs.tables`; a test compares it with the code -->",
        "",
        "[pytest](#pytest) · [gates](#gates) · [rules](#rules) · [states](#states-of-a-group) · "
        "[events](#kinds-of-group-events) · [causes](#causes) · [HTTP](#http) · [errors](#errors)",
        *_section("pytest", ("fixture, option or mark", "what it is"), _pytest()),
        *_section("Gates", ("gate", "API", "where it holds", "what has happened then"), _gates()),
        *_section("Rules", ("condition", "what it is"), sorted((f"`{name}`", about) for name, about in ABOUT.items())),
        *_table(("what it does", "arguments", "meaning"), _actions()),
        "",
        "Each also takes `times` (so often and no more), `nth` (from the n-th request on; alone: that one) and",
        "`probability`. A delay `until` takes a state, a kind of event or a gate. What `kohort analyze` reports, R01",
        "and on, is in [analysis.md](behaviour/analysis.md).",
        *_section("States of a group", ("state", "classic", "consumer", "share", "streams", "meaning"), _states()),
        *_section("Kinds of group events", ("kind", "of which groups"), _kinds()),
        "",
        "What their durations measure: [offsets-topic.md](behaviour/offsets-topic.md), section 9.2.",
        *_section("Causes", ("cause", "in words"), [(f"`{name}`", words) for name, words in sorted(CAUSES.items())]),
        "",
        "In Python, in `history`, with spaces: `session expired`.",
        *_section("HTTP", ("request", "what it does"), _endpoints()),
        *_section("Errors", ("error", "code", "a client tries again"), _errors()),
    ]
    return "\n".join(parts) + "\n"


def _section(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return ["", f"## {title}", *_table(head, rows)]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    rows = list(rows)
    assert {len(row) for row in rows} == {len(head)}, head
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return ["", *lines, *(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]


def public_fixtures() -> dict[str, FixtureFunctionDefinition]:
    """Return the fixtures of the plugin that tests may use, by name."""
    return {
        name: value
        for name, value in vars(plugin).items()
        if isinstance(value, FixtureFunctionDefinition) and not name.startswith("_")
    }


def _pytest() -> Iterator[tuple[str, ...]]:
    for name, fixture in sorted(public_fixtures().items()):
        yield f"`{name}`", _first(fixture._get_wrapped_function().__doc__)
    yield "`@pytest.mark.kafka(…)`", "what `kafka` starts: " + ", ".join(f"`{each}`" for each in plugin.OPTIONS)
    yield "`--kafka-seed N`", "seed of all clusters that are not given another"
    yield "`--kafka-proxy HOST:PORT,…`", "the cluster of the fixture `kafka_proxy`"
    yield (
        "`kafka_proxy`, `kafka_proxy_config`",
        "in pytest's configuration: that cluster; client properties for its login",
    )
    yield "`kafka_nodes`, `kafka_profile`, `kafka_settings`", "in pytest's configuration: what all fixtures start"


def _gates() -> Iterator[tuple[str, ...]]:
    for name, point in GATE_POINTS.items():
        yield f"`{name}`", point.api, STAGES[point.stage], point.about


def _actions() -> Iterator[tuple[str, ...]]:
    for name in DO:
        method = getattr(RuleBuilder, name)
        arguments = [each for each in inspect.signature(method).parameters if each not in ("self", "when")]
        yield f"`{name}`", ", ".join(f"`{each}`" for each in arguments), _first(method.__doc__)


def _states() -> Iterator[tuple[str, ...]]:
    kinds = [[each.value for each in states] for states in (State, GroupState, ShareGroupState, StreamsGroupState)]
    for name in dict.fromkeys((*(name for names in kinds for name in names), UNKNOWN)):
        is_in = (name in (*names, State.DEAD.value, UNKNOWN) for names in kinds)
        yield f"`{name}`", *("yes" if each else "" for each in is_in), STATES[name]


def _kinds() -> Iterator[tuple[str, ...]]:
    for kind in sorted(KINDS):
        yield f"`{kind}`", _groups_with(kind)


def _groups_with(kind: str) -> str:
    if kind in RECORD_KINDS:
        return "share groups"
    if kind in CLIENT_KINDS:
        return "none"
    has = {
        "classic": kind not in CONSUMER_KINDS,
        "consumer": True,
        "share": kind in SHARE_KINDS | OF_ANY_GROUP,
        "streams": kind in STREAMS_KINDS | OF_ANY_GROUP,
    }
    found = [name for name, is_so in has.items() if is_so]
    names = " and ".join(filter(None, (", ".join(found[:-1]), found[-1])))
    return "all" if all(has.values()) else f"{names} groups"


def _endpoints() -> Iterator[tuple[str, ...]]:
    lab = Lab()
    try:
        document: dict[str, Any] = make_app(lab.stage.server, laboratory=lab.laboratory).openapi()
    finally:
        lab.stage.close()
    for path, methods in sorted(document["paths"].items()):
        for method, operation in sorted(methods.items()):
            yield f"`{method.upper()} {path}`", _first(operation.get("description") or operation["summary"])


def _errors() -> Iterator[tuple[str, ...]]:
    for each in sorted(ErrorCode, key=lambda each: each.value):
        yield each.name.upper(), str(each.value), "yes" if each.retriable else ""


def _first(text: str | None) -> str:
    """The first paragraph, on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())
