"""What was found in a group: a card each, with the numbers it rests on and where they come from."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import RebalanceRow
from kohort.pipeline.report.figures import sureness, value, with_sureness, words
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.svg import esc, moment, sentence
from kohort.pipeline.report.words import how_sure

_MOST_LINKS = 40


def badge(severity: str) -> str:
    return f'<span class="badge {severity}">{severity or "fine"}</span>'


def card(page: str, number: int, finding: FindingRow, rebalances: dict[int, RebalanceRow], shown: set[int]) -> str:
    """page: what the ids of the group's page begin with. rebalances: by number. shown: those that the table has."""
    numbers = finding["evidence"].get("rebalances", [])
    known = all(rebalances[n]["start_ms"] is not None for n in numbers if n in rebalances)
    rows = ""
    for key, figure in finding["evidence"].items():
        if key == "rebalances":
            continue
        sure = sureness(key, finding["confidence"], starts_known=known)
        rows += f"<dt>{esc(words(key))}</dt><dd>{with_sureness(value(key, figure), sure)}</dd>"
    if numbers:
        rows += f"<dt>rebalances</dt><dd>{_links(page, numbers, shown)}</dd>"
    names = [finding["group"], *finding["clients"]]
    when = f"{moment(finding['start_ms'], '%H:%M:%S')} to {moment(finding['end_ms'], '%H:%M:%S')}"
    return (
        f'<section class="card {finding["severity"]}" id="{page}f{number}" aria-label="{esc(finding["title"])}">'
        f"<p>{badge(finding['severity'])}<b>{esc(finding['title'])}</b> "
        f'<span class="soft">{esc(finding["rule"])}, {esc(how_sure(finding))}, {when}</span></p>'
        f"<p>{sentence(_sentence(finding), names)}</p>"
        f"<p><b>What to do:</b> {sentence(finding['advice'], names)}</p>"
        f'<details><summary>Evidence</summary><div class="in"><dl class="evidence">{rows}</dl></div></details>'
        "</section>"
    )


def _sentence(finding: FindingRow) -> str:
    """A capital letter first, unless a name stands there: those are spelled as they are."""
    text = finding["text"]
    named = text.startswith(tuple(each for each in finding["clients"] if each))
    first = text[:1] if named else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _links(page: str, numbers: list[int], shown: set[int]) -> str:
    parts = []
    for n in numbers[:_MOST_LINKS]:
        parts.append(f'<a href="#{page}r{n}">{n}</a>' if n in shown else str(n))
    more = f" and {len(numbers) - _MOST_LINKS} more" if len(numbers) > _MOST_LINKS else ""
    return " ".join(parts) + more
