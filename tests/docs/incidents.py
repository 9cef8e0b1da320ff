"""Generates `docs/behaviour/incidents.md`: incidents of groups on a real Kafka, and the findings of the analysis."""

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


def incidents(mark: str) -> str:
    """Return the text of the page."""
    return "\n".join(_lines(mark))


def played(module: ModuleType) -> dict[str, str]:
    """Return a description of each story, by its group."""
    return {
        name.replace("_", "-"): " ".join((inspect.getdoc(story) or "").split())
        for name, story in inspect.getmembers(module, inspect.isfunction)
        if story.__module__ == module.__name__ and not name.startswith("_")
    }


HEAD = """\
# Incidents

Incidents of groups on Apache Kafka 4.3.0, and the findings of `kohort analyze` for each. `tests/pipeline/incidents/`
contains the incidents as code and Kafka's output as recordings, which tests read. To record them again, with Java 17
and Maven, run `python -m tests.pipeline.incidents.record kafka classic OUT.tar.gz`. At the end of the classic incidents
the broker is suspended for 8 s: the remaining groups pause together. In the section about losses the broker refuses to
convert groups. Findings about share groups are based on the log of their share coordinators. kohort's event log
contains more, and a second recording has it. {alone} incidents are not among the scenarios of
the shared recording, which the last column names. [analysis.md](analysis.md) has the rules.
"""


def _lines(mark: str) -> Iterator[str]:
    alone = sum(not _also(module, group) for module in TITLES for group in played(module))
    yield HEAD.format(alone=alone)
    yield mark.rstrip()
    for module, title in TITLES.items():
        yield ""
        yield f"## {title}"
        yield ""
        yield "| group | incident | findings | also recorded as |"
        yield "|---|---|---|---|"
        for group, description in played(module).items():
            yield f"| {group} | {description} | {_findings(module, group)} | {_also(module, group)} |"
    yield ""


def _also(module: ModuleType, group: str) -> str:
    """Return the group's scenario in the shared recording, which has no streams groups."""
    return "" if module is streams_stories else ALSO_RECORDED.get(group, "")


def _findings(module: ModuleType, group: str) -> str:
    if module in OF:
        findings = [(rule, *how) for rule, how in OF[module].get(group, {}).items()]
    elif warning := SERIOUS.get(group):
        findings = [(warning[0], "warning", warning[1])]
    else:
        findings = [(SAID[group], "information", [])] if group in SAID else []
    texts = [
        f"{rule} ({severity}){': ' if clients else ''}{', '.join(clients)}" for rule, severity, clients in findings
    ]
    return "; ".join(texts) or "nothing serious"
