"""Generates docs/reference/python/: which classes and functions the reference of the Python API lists.

mkdocstrings adds signatures and docstrings when the site is built. A public class is one of `kohort.testing`, or one that
a public member of a public class returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import kohort.testing
from tests.docs.sources import ROOT

if TYPE_CHECKING:
    from griffe import ModulesCollection

PYTHON_API = ROOT / "docs" / "reference" / "python"


@dataclass(frozen=True)
class ApiPage:
    """A page with its entries: names of public classes and functions, or paths."""

    title: str
    introduction: str
    entries: tuple[str, ...]


PAGES = {
    "cluster": ApiPage(
        "Cluster",
        "`kafka` in a test is a `Cluster`: brokers, their clock, topics and records.\n\n"
        "```python\nfrom kohort.testing import Cluster\n\n\n"
        "async def test_group_forms():\n    async with Cluster(nodes=3) as kafka:\n"
        '        kafka.topics.create("orders", partitions=6)\n'
        '        assert kafka.group("billing").state == "Dead"\n```',
        (
            "Cluster",
            "Clock",
            "Topics",
            "StoredRecord",
            "Leftovers",
            "Budget",
            "Acls",
            "Acl",
            "kohort.security.acls.AclBinding",
            "ControlError",
            "NotFoundError",
        ),
    ),
    "groups": ApiPage(
        "Groups",
        '`kafka.group("billing")` returns a `Group`, whether its members use the classic or the consumer protocol.',
        (
            "Group",
            "GroupMember",
            "Evidence",
            "Role",
            "Migration",
            "Rebalance",
            "Explanation",
            "Wait",
            "Advice",
            "kohort.coordinator.events.group_event.GroupEvent",
        ),
    ),
    "share-groups": ApiPage(
        "Share groups",
        '`kafka.share_group("queue")` returns a `ShareGroup` (KIP-932).',
        (
            "ShareGroup",
            "SharePartitionState",
            "InFlightRecords",
            "DeadLetter",
        ),
    ),
    "streams-groups": ApiPage(
        "Streams groups",
        '`kafka.streams_group("wordcount")` returns a `StreamsGroup` (KIP-1071).',
        (
            "StreamsGroup",
            "TaskMember",
            "MemberTasks",
            "LabTopology",
            "LabSubtopology",
        ),
    ),
    "faults": ApiPage(
        "Rules and gates",
        "`kafka.faults` changes requests and responses, `kafka.gates` holds them at a named point, and `kafka.appends` "
        "changes the coordinator's writes.",
        (
            "Faults",
            "RuleBuilder",
            "Rule",
            "Gates",
            "Gate",
            "Held",
            "HeldLoad",
            "Appends",
            "AppendRule",
        ),
    ),
    "proxy": ApiPage(
        "Proxy and replay",
        "The fixture `kafka_proxy` is a `Proxy` in front of an existing cluster. `replay` plays a recorded conversation.",
        ("Proxy", "ProxyGroup", "replay", "replay_async"),
    ),
    "without-await": ApiPage(
        "Types for tests without await",
        "In an ordinary test function the methods are the same, without `await`. These types are for editors and type "
        "checkers: `def test_orders(kafka: SyncCluster)`.",
        (
            "SyncCluster",
            "SyncClock",
            "SyncFaults",
            "SyncGroup",
            "SyncProxy",
            "SyncRule",
            "SyncShareGroup",
            "SyncStreamsGroup",
        ),
    ),
}

CONSTRUCTED = ("Cluster", "Proxy", "Budget")  # classes whose objects a test creates
TWINS = "without-await"  # classes of this page have the members of an asynchronous class, so they are not repeated

# Members for the brokers and the control address, by class. All other members without an underscore are public.
INTERNAL = {
    "Cluster": {"laboratory", "on_forked"},
    "Proxy": {"on_forked"},
    "Topics": {"append_batch", "find"},
    "Acls": {"lift"},
    "Faults": {
        *("add", "apply", "asks_for_rights", "denies", "get", "remove", "silences", "take_away", "take_idle"),
        "waiters",
    },
    "Rule": {"action", "idle", "match", "takes", "would_take"},
    "Appends": {"chance", "find", "forget", "holds", "next_number", "refuses", "report", "report_after"},
    "AppendRule": {"error", "keep", "takes"},
    "Gates": {"changed", "find", "holds", "holds_load", "points"},
    "Gate": {"holds_loads", "keep", "stops"},
    "Held": {"exchange", "is_obsolete", "names", "proceed", "response"},
    "HeldLoad": {"is_obsolete", "names", "proceed"},
}

_ROOMS = ("testing", "control", "groups", "proxy")  # packages whose classes are public when returned
_PUBLIC = tuple(f"kohort.{room}." for room in _ROOMS)
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


def python_api() -> dict[Path, str]:
    """Return the text of each page by path."""
    return {PYTHON_API / f"{name}.md": "\n".join(_lines(name, page)) for name, page in PAGES.items()}


def _lines(name: str, page: ApiPage) -> Iterator[str]:
    yield f"# Python API: {page.title}\n"
    yield "<!-- made by `python -m tests.docs.tables`; a test compares it with the code -->\n"
    yield f"{page.introduction}\n"
    for entry in page.entries:
        path = path_of(entry)
        internal = INTERNAL.get(path.rpartition(".")[2], ())
        yield f"::: {path}"
        options = ["members: false"] if name == TWINS else []
        options += [] if entry in CONSTRUCTED else ["merge_init_into_class: false"]
        options += [f'filters: ["!^_", "!^({"|".join(sorted(internal))})$"]'] if internal else []
        yield f"    options: {{{', '.join(options)}}}\n" if options else ""


def path_of(entry: str) -> str:
    """Return the path of an entry, as in `kohort.testing.cluster.Cluster`."""
    if entry in kohort.testing.__all__:
        return f"{getattr(kohort.testing, entry).__module__}.{entry}"
    return entry if "." in entry else f"{_homes()[entry]}.{entry}"


@cache
def _homes() -> dict[str, str]:
    """Return the module of each class in the rooms with public classes."""
    files = {path.relative_to(ROOT): path for room in _ROOMS for path in (ROOT / room).rglob("*.py")}
    return {
        name: ".".join(("kohort", *path.with_suffix("").parts))
        for path, file in files.items()
        for name in _CLASS.findall(file.read_text())
    }


def entries() -> set[str]:
    return {path_of(entry) for page in PAGES.values() for entry in page.entries}


@cache
def _modules() -> ModulesCollection:
    """Return the packages as the site reads them."""
    import griffe  # not installed without the extra `docs`

    from package import site_hooks

    site_hooks.lay_out_packages()
    loader = griffe.GriffeLoader(search_paths=[site_hooks.IMPORTS])
    loader.load("kohort.testing", submodules=True)
    return loader.modules_collection


def public_members(path: str) -> set[str]:
    """Return the paths of the public members of an entry; a function has none."""
    internal = INTERNAL.get(path.rpartition(".")[2], set())
    return {f"{path}.{name}" for name in all_members(path) - internal if not name.startswith("_")}


def all_members(path: str) -> set[str]:
    """Return the names of the members of a class, also inherited ones."""
    entry = _modules()[path]
    return set(entry.all_members) if entry.is_class else set()


def returned_classes(path: str) -> Iterator[str]:
    """Yield the public classes that public members of an entry return."""
    import griffe

    for member_path in public_members(path):
        member = _modules()[member_path]
        member = member.final_target if member.is_alias else member
        annotation = member.returns if member.is_function else getattr(member, "annotation", None)
        for name in annotation.iterate() if isinstance(annotation, griffe.Expr) else ():
            if isinstance(name, griffe.ExprName) and name.canonical_path.startswith(_PUBLIC):
                target = _modules()[name.canonical_path]
                target = target.final_target if target.is_alias else target
                if target.is_class:
                    yield target.path
