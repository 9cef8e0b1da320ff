"""Generates docs/reference/names.md: all names that a test, a rule or a request may use, from the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from _pytest.fixtures import FixtureFunctionDefinition

from kohort.broker.cluster.effect_execution import CAUSES
from kohort.control.faults.rule_builder import RuleBuilder
from kohort.control.faults.rule_parsing import DO
from kohort.control.gates.gate_points import ANSWER, GATE_POINTS, LOAD, REQUEST
from kohort.control.groups.any_group import UNKNOWN
from kohort.control.http.app import make_app
from kohort.control.http.routes.faults_routes import ABOUT
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

REFERENCE = ROOT / "docs" / "reference" / "names.md"

STAGES = {
    REQUEST: "before the broker handles the request",
    ANSWER: "before the client receives the response",
    LOAD: "at the end of a load",
}
STATES = {
    "Empty": "no members; offsets may exist",
    "PreparingRebalance": "waits until all members have joined",
    "CompletingRebalance": "waits for the leader's assignment",
    "Stable": "all members have their target assignment",
    "Dead": "the group does not exist",
    "Assigning": "the target assignment is not computed yet",
    "Reconciling": "some members have not reached their target assignment",
    "NotReady": "topics of the topology are missing or do not match",
    UNKNOWN: "the coordinator is loading",
}  # a state of the code that is missing here raises KeyError


OF_ANY_GROUP = {"access_denied", "coordinator_elected", "coordinator_resigned"}  # event types of all group types


def reference() -> str:
    """Return the text of the page."""
    parts = [
        "# Reference",
        "",
        "Every name in tests, rules and requests. The [laboratory](../how-to/laboratory.md) explains their purpose,",
        "the [cookbook](../how-to/cookbook/README.md) shows examples.",
        "",
        "<!-- made by `python -m tests.docs.tables`; a test compares it with the code -->",
        "",
        "[pytest](#pytest) · [gates](#gates) · [rules](#rules) · [states](#states-of-a-group) · "
        "[events](#group-events) · [causes](#causes) · [HTTP](#http) · [errors](#errors)",
        *_section("pytest", ("fixture, option or marker", "description"), _pytest()),
        *_section("Gates", ("gate", "API", "where it holds", "state at that point"), _gates()),
        *_section("Rules", ("condition", "description"), sorted((f"`{name}`", about) for name, about in ABOUT.items())),
        *_table(("action", "arguments", "meaning"), _actions()),
        "",
        "Each action also accepts `times` (maximum number of requests), `nth` (from the n-th request on; alone: only",
        "that one) and `probability`. `until` of a delay is a state, an event type or a gate. The findings of",
        "`kohort analyze`, R01 and on, are in [analysis.md](../behaviour/analysis.md).",
        *_section("States of a group", ("state", "classic", "consumer", "share", "streams", "meaning"), _states()),
        *_section("Group events", ("event", "group types"), _kinds()),
        "",
        "Section 9.2 of [offsets-topic.md](../behaviour/offsets-topic.md) defines their durations.",
        *_section("Causes", ("cause", "description"), [(f"`{name}`", words) for name, words in sorted(CAUSES.items())]),
        "",
        "In Python, `history` has them with spaces: `session expired`.",
        *_section("HTTP", ("request", "effect"), _endpoints()),
        *_section("Errors", ("error", "code", "retriable"), _errors()),
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
    yield (
        "`@pytest.mark.kafka(…)`",
        "options of the cluster that `kafka` starts: " + ", ".join(f"`{option}`" for option in plugin.OPTIONS),
    )
    yield "`--kafka-seed N`", "seed of all clusters without one of their own"
    yield "`--kafka-proxy HOST:PORT,…`", "the cluster of the fixture `kafka_proxy`"
    yield (
        "`kafka_proxy`, `kafka_proxy_config`",
        "in pytest's configuration: that cluster; client properties for its login",
    )
    yield "`kafka_nodes`, `kafka_profile`, `kafka_settings`", "in pytest's configuration: options of all fixtures"


def _gates() -> Iterator[tuple[str, ...]]:
    for name, point in GATE_POINTS.items():
        yield f"`{name}`", point.api, STAGES[point.stage], point.about


def _actions() -> Iterator[tuple[str, ...]]:
    for name in DO:
        method = getattr(RuleBuilder, name)
        arguments = [
            parameter for parameter in inspect.signature(method).parameters if parameter not in ("self", "options")
        ]
        yield f"`{name}`", ", ".join(f"`{parameter}`" for parameter in arguments), _first(method.__doc__)


def _states() -> Iterator[tuple[str, ...]]:
    kinds = [[state.value for state in states] for states in (State, GroupState, ShareGroupState, StreamsGroupState)]
    for name in dict.fromkeys((*(name for names in kinds for name in names), UNKNOWN)):
        is_in = (name in (*names, State.DEAD.value, UNKNOWN) for names in kinds)
        yield f"`{name}`", *("yes" if state else "" for state in is_in), STATES[name]


def _kinds() -> Iterator[tuple[str, ...]]:
    for kind in sorted(KINDS):
        yield f"`{kind}`", _groups_with(kind)


def _groups_with(kind: str) -> str:
    if kind in RECORD_KINDS:
        return "share groups"
    if kind in CLIENT_KINDS:
        return "none"
    applies = {
        "classic": kind not in CONSUMER_KINDS,
        "consumer": True,
        "share": kind in SHARE_KINDS | OF_ANY_GROUP,
        "streams": kind in STREAMS_KINDS | OF_ANY_GROUP,
    }
    group_types = [name for name, is_so in applies.items() if is_so]
    names = " and ".join(filter(None, (", ".join(group_types[:-1]), group_types[-1])))
    return "all" if all(applies.values()) else f"{names} groups"


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
    for error in sorted(ErrorCode, key=lambda error: error.value):
        yield error.name.upper(), str(error.value), "yes" if error.retriable else ""


def _first(text: str | None) -> str:
    """Return the first paragraph on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())
