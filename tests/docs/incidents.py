"""`docs/behaviour/incidents.md`: what was done to groups of a real Kafka, and what the analysis says of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

from tests.docs.sources import BEHAVIOUR
from tests.pipeline.incidents import classic_stories, loss_stories, share_stories, stories, streams_stories
from tests.pipeline.incidents.told import (
    ALSO_RECORDED,
    OF_CLASSIC_GROUPS,
    OF_LOSSES,
    OF_SHARES,
    OF_STREAMS,
    SAID,
    SERIOUS,
)

INCIDENTS = BEHAVIOUR / "incidents.md"
TITLES = {
    classic_stories: "Classic groups",
    stories: "Groups of the consumer protocol",
    loss_stories: "Losses and stops, and healthy habits",
    share_stories: "Share groups",
    streams_stories: "Streams groups",
}
OF = {
    classic_stories: OF_CLASSIC_GROUPS,
    loss_stories: OF_LOSSES,
    share_stories: OF_SHARES,
    streams_stories: OF_STREAMS,
}
"""What is said of the groups of each module: groups of two modules may have one name."""


def incidents(mark: str) -> str:
    """The page."""
    return "\n".join(_lines(mark))


def played(module: ModuleType) -> dict[str, str]:
    """What each story does, by its group."""
    return {
        name.replace("_", "-"): " ".join((inspect.getdoc(story) or "").split())
        for name, story in inspect.getmembers(module, inspect.isfunction)
        if story.__module__ == module.__name__ and not name.startswith("_")
    }


HEAD = """\
# Incidents

What was done to groups of an Apache Kafka 4.3.0, and what `kohort analyze` says of each. `tests/pipeline/incidents/`
has the stories as code, and what Kafka wrote as recordings, which tests read. They are played again, with Java 17 and
Maven, by `python -m tests.pipeline.incidents.record kafka classic OUT.tar.gz`. At the end of the classic ones the
broker stands still for 8 s: the groups that are left pause together. Among the losses the broker refuses to convert
groups. What is said of share groups is from the log of their share coordinators. kohort's event log tells more, and
a second recording has it. {alone} incidents are not among the scenarios of
the shared recording, whose names stand in the last column. [analysis.md](analysis.md) has the rules.
"""


def _lines(mark: str) -> Iterator[str]:
    alone = sum(not _also(module, group) for module in TITLES for group in played(module))
    yield HEAD.format(alone=alone)
    yield mark.rstrip()
    for module, title in TITLES.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield "| group | what is done | what is said | also recorded as |"
        yield "|---|---|---|---|"
        for group, done in played(module).items():
            yield f"| {group} | {done} | {_said(module, group)} | {_also(module, group)} |"
    yield ""


def _also(module: ModuleType, group: str) -> str:
    """A scenario of the shared recording, which has no streams groups."""
    return "" if module is streams_stories else ALSO_RECORDED.get(group, "")


def _said(module: ModuleType, group: str) -> str:
    if module in OF:
        found = [(rule, *how) for rule, how in OF[module].get(group, {}).items()]
    elif warning := SERIOUS.get(group):
        found = [(warning[0], "warning", warning[1])]
    else:
        found = [(SAID[group], "information", [])] if group in SAID else []
    texts = [f"{rule} ({severity}){': ' if clients else ''}{', '.join(clients)}" for rule, severity, clients in found]
    return "; ".join(texts) or "nothing serious"
