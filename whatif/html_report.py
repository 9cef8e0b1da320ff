"""Page of an answer: figures of each variant, timelines of their plays on one axis, and what was read or assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kohort.pipeline.report.style import page_head
from kohort.pipeline.report.svg import Axis, Colours, Span, bar, chart, esc, label, legend, name, rect, text, thinned
from kohort.pipeline.report.tables import table
from kohort.pipeline.rules.finding import several
from kohort.whatif.answer import COUNTS, FIGURES, Answer
from kohort.whatif.playing import Played
from kohort.whatif.question import Variant
from kohort.whatif.script import Script

_ROW, _LOWEST_ROW, _HIGHEST_PLAY = 12, 1.5, 120
_HEAD, _GAP = 20, 14


def html_report(answers: Sequence[Answer], refusals: Mapping[str, str]) -> str:
    """Render the page, without scripts and network access.

    Args:
        refusals: Why nothing is predicted for other groups.
    """
    count = len(answers) + len(refusals)
    only = answers[0].group if count == 1 and answers else ""
    title = f"What if: {only or several(count, 'group')}"
    heading = name(only) if only else several(count, "group")
    parts = {answer.group: answer_parts(answer) for answer in answers}
    parts |= {group: refusal_part(reason) for group, reason in refusals.items()}
    sections = "".join(f"<h2>{name(group)}</h2>{part}" if not only else part for group, part in sorted(parts.items()))
    return f"{page_head(title)}<body><h1>What if: {heading}</h1>{sections}</body></html>\n"


def answer_parts(answer: Answer) -> str:
    """Render calibration, figures, timelines, sources and assumptions."""
    best = answer.best_variants()
    variants = [variant for variant in answer.variants if variant is answer.question.own or variant in best]
    parts = [
        _calibration(answer),
        _figures(answer, variants) if answer.calibration.is_good else "",
        _timelines(answer, variants),
        _sources(answer),
        f"<h3>Assumptions</h3><p>{esc('; '.join(answer.assumptions()).capitalize())}.</p>",
    ]
    return "".join(parts)


def refusal_part(reason: str) -> str:
    return f"<p>Nothing is predicted: {esc(reason)}.</p>"


def _calibration(answer: Answer) -> str:
    calibration = answer.calibration
    if calibration.is_good:
        verdict = "<p>The play under the group's own settings reproduces the history.</p>"
    else:
        failures = "".join(f"<li>{esc(failure)}</li>" for failure in calibration.failures)
        additions = answer.question.additions
        added = f"<p>Add {esc('; '.join(additions))}.</p>" if additions else ""
        verdict = (
            "<p>Nothing is predicted: the play under the group's own settings does not reproduce the history.</p>"
            f"<ul>{failures}</ul>{added}"
        )
    rows = "".join(
        f'<tr><th scope="row">{FIGURES[figure]}</th><td class="n">{_value(figure, calibration.observed[figure])}</td>'
        f'<td class="n">{_value(figure, calibration.played[figure])}</td></tr>'
        for figure in calibration.observed
    )
    return f"{verdict}{table(('by commits', 'observed', 'played'), rows, numbers=True)}"


def _figures(answer: Answer, variants: list[Variant]) -> str:
    with_effort = answer.question.is_suggesting
    rows = []
    for variant in variants:
        prediction = answer.predictions[variant.name]
        cells = []
        for figure in FIGURES:
            low, high = (_value(figure, limit) for limit in prediction.ranges[figure])
            limits = "" if low == high else f'<br><span class="sure">{low} to {high}</span>'
            cells.append(f'<td class="n">{_value(figure, prediction.figures[figure])}{limits}</td>')
        cells.append(f'<td class="n">{variant.settings.crash_notice_s:.1f}</td>')
        if with_effort:
            cells.append(f'<td class="n">{variant.effort}</td>')
        rows.append(f'<tr><th scope="row">{esc(variant.name)}</th>{"".join(cells)}</tr>')
    columns = ("", *FIGURES.values(), "time to notice a crash, s", *(("effort",) if with_effort else ()))
    return f"<h3>Figures</h3>{table(columns, ''.join(rows), numbers=True)}"


def _value(figure: str, value: float) -> str:
    return f"{value:.0f}" if figure in COUNTS else f"{value:.1f}"


def _timelines(answer: Answer, variants: list[Variant]) -> str:
    """Draw one row per partition and variant: its owner by color, red while it stands still, lines for rebalances."""
    script, colours = answer.script, Colours()
    axis = Axis(script.begins_ms, max(variant.script.end_ms for variant in variants))
    row = max(_LOWEST_ROW, min(_ROW, _HIGHEST_PLAY / max(len(script.arrivals), 1)))
    parts: list[str] = []
    y = 0.0
    for variant in variants:
        played = answer.predictions[variant.name].example
        parts.append(text(6, y + 13, variant.name, "on"))
        parts += _play(played, script, axis, colours, y + _HEAD, row)
        y += _HEAD + row * len(script.arrivals) + _GAP
    drawing = chart(y + 16, parts, "Owners of partitions, and stalls, under each variant", axis)
    quiet = f" {script.compressed_ms / 1000:.0f} s of quiet time are left out." if script.compressed_ms else ""
    entries = [("lost", "no progress"), ("prepare", "rebalance"), ("unowned", "no owner"), *colours.names]
    return (
        f"<h3>Timelines</h3><figure>{drawing}<figcaption>Owners from the first disturbance on, one row per partition, "
        "in the play of each variant whose cost is in the middle. Times count from the start of the history."
        f"{quiet}</figcaption></figure>{legend(entries)}"
    )


def _play(played: Played, script: Script, axis: Axis, colours: Colours, top: float, row: float) -> list[str]:
    parts = []
    owners = _owners_of(played, script, axis.end_ms)
    for number, partition in enumerate(sorted(script.arrivals)):
        y = top + number * row
        if row >= _ROW:
            parts.append(label(y + row - 3, f"partition {partition}"))
        parts.append(rect(axis.x(axis.start_ms), y, axis.x(axis.end_ms), row - 1, "unowned"))
        for start_ms, end_ms, owner in owners.get(partition, []):
            if end_ms > axis.start_ms:
                span = Span(max(start_ms, axis.start_ms), end_ms, colours.of(owner), owner)
                parts.append(bar(axis, span, y, row - 1))
        stalls = [
            Span(start_ms, end_ms, "lost", f"no progress for {(end_ms - start_ms) / 1000:.1f} s")
            for start_ms, end_ms in played.stalls.get(partition, [])
        ]
        parts += [bar(axis, span, y, row - 1, 1) for span in thinned(axis, stalls, 1)]
    height = row * len(script.arrivals) + 4
    parts += [
        rect(axis.x(ms), top - 4, axis.x(ms) + 1.5, height + 4, "prepare", "rebalance") for ms in played.rebalances
    ]
    return parts


def _owners_of(played: Played, script: Script, end_ms: int) -> dict[int, list[tuple[int, int, str]]]:
    """Return the start, end and owner of each period of ownership, by partition."""
    periods: dict[int, list[tuple[int, int, str]]] = {partition: [] for partition in script.arrivals}
    since: dict[tuple[str, int], int] = {}
    for ms, member, partitions in played.owners:
        for revoked in [owned for owned in since if owned[0] == member and owned[1] not in partitions]:
            periods.setdefault(revoked[1], []).append((since.pop(revoked), ms, member))
        for partition in partitions:
            since.setdefault((member, partition), ms)
    for (member, partition), ms in since.items():
        periods.setdefault(partition, []).append((ms, end_ms, member))
    return periods


def _sources(answer: Answer) -> str:
    rows = "".join(
        f'<tr><th scope="row">{esc(source.element)}</th><td>{esc(source.value)}</td><td>{source.origin}</td>'
        f"<td>{esc(source.rule)}</td></tr>"
        for source in answer.sources
    )
    return f"<h3>Read from the history</h3>{table(('', 'value', 'origin', 'rule'), rows)}"
