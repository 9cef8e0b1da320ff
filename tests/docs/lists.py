"""Generates the reference pages of settings, metrics and findings from the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any

from kohort.broker.settings.broker_settings import PROFILES, Settings
from kohort.control.http.lag_metrics import of_groups
from kohort.control.http.login_metrics import of_logins
from kohort.control.http.metrics import Counts, read_counters, read_gauges
from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.group_log import GroupLog
from kohort.pipeline.live.group_metrics import GroupMetrics
from kohort.pipeline.live.sampled_ends import LogEnds
from tests.control.talking import Lab
from tests.docs.rule_reasons import REASONS
from tests.docs.sources import ROOT

METRICS = ROOT / "docs" / "reference" / "metrics.md"
SETTINGS = ROOT / "docs" / "reference" / "settings.md"
FINDINGS = ROOT / "docs" / "reference" / "findings.md"


def settings() -> str:
    """Return the generated part of the page: the differences of the profile `test`, and all settings."""
    faithful = {setting.name: setting.show(value) for setting, value in Settings([], "faithful", 1)}
    lines = ["", "## Profile test", "", "| setting | faithful | test |", "|---|---|---|"]
    lines += [f"| `{name}` | {faithful[name]} | {value} |" for name, value in PROFILES["test"].items()]
    lines += ["", "## All settings", "", "`kohort settings` prints the same list, with the values of a profile.", ""]
    for setting, value in Settings([], "faithful", 1):
        default = f"`{setting.show(value)}`" if setting.show(value) else "empty"
        lines += [f"### {setting.name}", "", f"{_sentence(setting.documentation)} {_sentence(setting.values.allowed)}"]
        lines += ["", f"Default: {default}", ""]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].replace('<', '&lt;')}."


def metrics(mark: str) -> str:
    """Return the text of the page."""
    lab = Lab()
    try:
        cluster = lab.laboratory.cluster
        of_broker = [*read_gauges(cluster), *of_groups(cluster), *of_logins(cluster), *read_counters(Counts(), cluster)]
    finally:
        lab.stage.close()
    of_follower = FollowMetrics().registry._collector_to_names
    followed_groups = GroupMetrics(GroupLog(), LogEnds(), dict, lambda: 0, Lock()).collect()
    following = (
        (family, getattr(collector, "_labelnames", ())) for collector in of_follower for family in collector.collect()
    )
    lines = [
        "# Metrics",
        "",
        mark,
        "## Of a broker",
        "",
        "`kohort serve --control 9099` serves them at `/metrics`. Counting starts with the broker.",
        *_families((family, getattr(family, "_labelnames", ())) for family in of_broker),
        "",
        "## Of a run that follows a cluster",
        "",
        "`kohort follow` serves them at port 9464, path `/metrics`. Those that begin with `kohort_` are updated with each "
        "report; the first 500 groups and 1,000 clients have their own rows, and further ones share `(others)`. Those "
        "that begin with `kafka_` are read from the log, also by a process that continues a previous one.",
        *_families([*following, *((family, getattr(family, "_labelnames", ())) for family in followed_groups)]),
    ]
    return "\n".join(lines) + "\n"


def _families(families: Iterable[tuple[Any, Iterable[str]]]) -> Iterator[str]:
    yield from ("", "| metric | type | labels | meaning |", "|---|---|---|---|")
    for family, labels in sorted(families, key=lambda pair: pair[0].name):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"| `{name}` | {family.type} | {', '.join(labels)} | {family.documentation.rstrip('.')} |"


def findings(mark: str) -> str:
    """Return the text of the page."""
    lines = [
        "# Findings",
        "",
        mark,
        "`kohort analyze` reports these findings. [The analysis](../behaviour/analysis.md) defines the figures of the rules.",
    ]
    for path in sorted((ROOT / "pipeline" / "rules").glob("r[0-9]*.py")):
        tree = ast.parse(path.read_text())
        first, _, rest = (ast.get_docstring(tree) or "").partition("\n\n")
        rule, _, about = " ".join(first.split()).partition(": ")
        excludes, certainty = REASONS[rule]
        lines += ["", f'<a id="{rule.lower()}"></a>', "", f"## {rule}: {about.rstrip('.')}", ""]
        lines += [f"{paragraph}\n" for paragraph in re.split(r"\n\n", rest) if paragraph]
        lines += [f"- **What excludes other explanations**: {excludes}", f"- **Confidence**: {certainty}"]
    return "\n".join(lines) + "\n"
