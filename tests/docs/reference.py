"""Generates pages of docs/reference: the names that a test or a rule may use, from the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

from kohort.broker.cluster.effect_execution import CAUSES
from kohort.control.faults.rule_builder import RuleBuilder
from kohort.control.faults.rule_parsing import DO
from kohort.control.gates.gate_points import ANSWER, GATE_POINTS, LOAD, REQUEST
from kohort.control.groups.any_group import UNKNOWN
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
from tests.docs.sources import ROOT

REFERENCE = ROOT / "docs" / "reference"

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


def reference(mark: str) -> dict[Path, str]:
    """Return the text of each page by path."""
    pages = {
        "pytest.md": _pytest_page(mark),
        "rules.md": _rules_page(mark),
        "groups.md": _groups_page(mark),
        "errors.md": ["# Error codes", "", mark, *_table(("error", "code", "retriable"), _errors())[1:]],
    }
    return {REFERENCE / name: "\n".join(lines) + "\n" for name, lines in pages.items()}


def _pytest_page(mark: str) -> list[str]:
    return [
        "# pytest",
        "",
        mark,
        "`pip install kohort` installs the plugin; [Control a cluster in a test](../how-to/laboratory.md) shows its use. "
        "The fixtures return a [Cluster](python/cluster.md), `kafka_proxy` a [Proxy](python/proxy.md).",
        *_section("Fixtures", ("fixture", "description"), _fixtures()),
        *_section("Mark", ("option", "description"), _options()),
        *_section("Options and configuration", ("name", "description"), _configuration()),
    ]


def _rules_page(mark: str) -> list[str]:
    return [
        "# Conditions, actions and gates",
        "",
        mark,
        "Names that a rule uses in Python, in a YAML file and in a request. `kafka.faults.on(…)` accepts the conditions; the "
        "actions are its [methods](python/faults.md).",
        *_section(
            "Conditions",
            ("condition", "description"),
            sorted((f"`{name}`", about) for name, about in ABOUT.items()),
        ),
        *_section("Actions", ("action", "arguments", "meaning"), _actions()),
        "",
        "Each action also accepts `times` (maximum number of requests), `nth` (from the n-th request on; alone: only",
        "that one) and `probability`. `until` of a delay is a state, an event type or a gate.",
        *_section("Gates", ("gate", "API", "where it holds", "state at that point"), _gates()),
    ]


def _groups_page(mark: str) -> list[str]:
    return [
        "# States, events and causes",
        "",
        mark,
        *_section("States of a group", ("state", "classic", "consumer", "share", "streams", "meaning"), _states())[1:],
        *_section("Group events", ("event", "group types"), _kinds()),
        "",
        "[GroupEvent](python/groups.md) lists the fields. Section 9.2 of [offsets-topic.md](../behaviour/offsets-topic.md) "
        "defines the durations.",
        *_section("Causes", ("cause", "description"), [(f"`{name}`", words) for name, words in sorted(CAUSES.items())]),
        "",
        "In Python, `history` has them with spaces: `session expired`.",
    ]


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


def _fixtures() -> Iterator[tuple[str, ...]]:
    for name, fixture in sorted(public_fixtures().items()):
        yield f"`{name}`", _first(fixture._get_wrapped_function().__doc__)


OPTIONS = {
    "nodes": "number of brokers, also as the only positional argument",
    "profile": "`test` avoids waiting for absent members; `faithful` has Kafka's defaults",
    "as_kafka": 'release of Kafka to imitate, as in `"2.8"`',
    "seed": "seed of all random choices",
    "settings": 'broker settings by Kafka\'s names: `{"group.max.size": 2}`',
    "safety": "a [Budget](python/cluster.md) of allowed violations, or None to disable the checks",
    "host": "address on which the brokers listen",
    "security": "`SSL`, `SASL_PLAINTEXT` or `SASL_SSL`",
}  # an option of the plugin that is missing here raises KeyError


def _options() -> Iterator[tuple[str, ...]]:
    for option in plugin.OPTIONS:
        yield f"`@pytest.mark.kafka({option}=…)`", OPTIONS[option]


def _configuration() -> Iterator[tuple[str, ...]]:
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    for option in parser.getgroup("kohort").options:
        yield f"`{option.names()[0]} {option.attrs()['metavar']}`", f"option: {option.attrs()['help']}"
    for name, (about, _, _) in parser._inidict.items():
        yield f"`{name}`", f"pytest's configuration: {about}"


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


def _errors() -> Iterator[tuple[str, ...]]:
    for error in sorted(ErrorCode, key=lambda error: error.value):
        yield error.name.upper(), str(error.value), "yes" if error.retriable else ""


def _first(text: str | None) -> str:
    """Return the first paragraph on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())
