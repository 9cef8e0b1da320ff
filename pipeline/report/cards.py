"""Card of a finding with its text, advice and evidence."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import RebalanceRow
from kohort.pipeline.report.figures import sureness, value, with_sureness, words
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.svg import esc, moment, sentence
from kohort.pipeline.report.words import how_sure

_MOST_LINKS = 40


def badge(severity: str) -> str:
    return f'<span class="badge {severity}">{severity or "fine"}</span>'


def card(page: str, number: int, finding: FindingRow, rebalances: dict[int, RebalanceRow], linked: set[int]) -> str:
    """Render a finding.

    Args:
        page: Prefix of the ids in the group's page.
        number: Number of the finding in the page.
        finding: Finding to render.
        rebalances: Rebalances of the group by number.
        shown: Numbers of the rebalances in the table, which are linked.
    """
    numbers = finding["evidence"].get("rebalances", [])
    starts_known = all(rebalances[n]["start_ms"] is not None for n in numbers if n in rebalances)
    rows = ""
    for key, figure in finding["evidence"].items():
        if key == "rebalances":
            continue
        sure = sureness(key, finding["confidence"], starts_known=starts_known)
        rows += f"<dt>{esc(words(key))}</dt><dd>{with_sureness(value(key, figure), sure)}</dd>"
    if numbers:
        rows += f"<dt>rebalances</dt><dd>{_links(page, numbers, linked)}</dd>"
    names = [finding["group"], *finding["clients"]]
    period = f"{moment(finding['start_ms'], '%H:%M:%S')} to {moment(finding['end_ms'], '%H:%M:%S')}"
    return (
        f'<section class="card {finding["severity"]}" id="{page}f{number}" aria-label="{esc(finding["title"])}">'
        f"<p>{badge(finding['severity'])}<b>{esc(finding['title'])}</b> "
        f'<span class="soft">{esc(finding["rule"])}, {esc(how_sure(finding))}, {period}</span></p>'
        f"<p>{sentence(_sentence(finding), names)}</p>"
        f"<p><b>What to do:</b> {sentence(finding['advice'], names)}</p>"
        f'<details><summary>Evidence</summary><div class="in"><dl class="evidence">{rows}</dl></div></details>'
        "</section>"
    )


def _sentence(finding: FindingRow) -> str:
    text = finding["text"]
    named = text.startswith(tuple(client for client in finding["clients"] if client))
    first = text[:1] if named else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _links(page: str, numbers: list[int], linked: set[int]) -> str:
    parts = []
    for n in numbers[:_MOST_LINKS]:
        parts.append(f'<a href="#{page}r{n}">{n}</a>' if n in linked else str(n))
    more = f" and {len(numbers) - _MOST_LINKS} more" if len(numbers) > _MOST_LINKS else ""
    return " ".join(parts) + more
