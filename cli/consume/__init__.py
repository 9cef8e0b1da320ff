"""`kohort consume`: the records of topics of any cluster, in the manner of kcat."""

from __future__ import annotations

import sys
from typing import Any

import click

from kohort.cli.consume.record_text import Printer, UnknownTokenError, as_json, formatted
from kohort.cli.consume.starting import BEGINNING, Span, span_of
from kohort.cli.delimiters import UnknownEscapeError
from kohort.cli.early_end import INTERRUPTED, ends_with_signals
from kohort.cli.librdkafka import ClusterOptions, Troubles, cluster_options, its_errors, settings_of


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@click.option("--group", "-G", metavar="GROUP", help="Be a member of this group, and commit what was printed.")
@click.option(
    "--offset",
    "-o",
    "offsets",
    multiple=True,
    metavar="WHERE",
    help="Where to begin: beginning, end, a number, -N for the last N of each partition, s@MOMENT; where to end: "
    "e@MOMENT. A moment is milliseconds since 1970, or as 2026-05-31T14:00:00Z.  [default: beginning; with -G the "
    "committed offset, or the beginning]",
)
@click.option("--partition", "-p", "partitions", multiple=True, type=click.IntRange(0), help="Only this; repeatable.")
@click.option("--count", "-c", type=click.IntRange(1), help="End after so many records.")
@click.option("--exit-at-end", "-e", is_flag=True, help="End when all partitions have been read to their end.")
@click.option(
    "--format",
    "-f",
    "shape",
    metavar="FORMAT",
    help="What to print of a record: %s value, %S its length, %R that as four bytes, %k key, %K its length, %T time "
    "in milliseconds, %h headers, %t topic, %p partition, %o offset, %% a percent sign; \\n, \\t, \\xNN.",
)
@click.option("--json", "-J", "json", is_flag=True, help="Print an object a line: what `kohort produce -J` reads.")
@click.option("--key-delimiter", "-K", metavar="TEXT", help="Print the key and this before the value.")
@click.option("--delimiter", "-D", default="\\n", show_default=True, metavar="TEXT", help="Print this behind each.")
@click.option("--null", "-Z", "null_as_word", is_flag=True, help="Print NULL for a key or value that is null.")
@cluster_options
def consume(
    topics: tuple[str, ...],
    group: str | None,
    offsets: tuple[str, ...],
    partitions: tuple[int, ...],
    count: int | None,
    exit_at_end: bool,
    shape: str | None,
    json: bool,
    key_delimiter: str | None,
    delimiter: str,
    null_as_word: bool,
    cluster: ClusterOptions,
    quiet: bool,
) -> None:
    """Print the records of topics. A TOPIC that begins with ^ is a pattern, with -G.

    Ctrl-C ends it: with exit code 0, or 130 if -c, -e or e@ was to end it. A terminal is shown escapes for what is not
    printable.
    """
    span = span_of(offsets)
    if group is not None:
        _check_member(offsets, partitions)
    printer = _printer(shape, json, key_delimiter, delimiter, b"NULL" if null_as_word else b"")
    troubles = Troubles()
    ours = {
        "group.id": "kohort-consume" if group is None else group,  # librdkafka wants one, also where nobody joins
        "auto.offset.reset": "earliest" if span.where == BEGINNING else "latest",
        "enable.auto.offset.store": False,
        "enable.auto.commit": group is not None,
        "enable.partition.eof": True,
    }
    settings = settings_of(cluster, "kohort-consume", troubles, ours)
    ends_with_signals()
    with its_errors():
        from confluent_kafka import Consumer

        from kohort.cli.consume.printing import Reading

        consumer = Consumer(settings)
        output = sys.stdout.buffer
        reading = Reading(consumer, output, printer, troubles, group, count, exit_at_end, quiet)
        sys.exit(_read(reading, topics, partitions, span))


def _read(reading: Any, topics: tuple[str, ...], partitions: tuple[int, ...], span: Span) -> int:
    """Returns the exit code."""
    try:
        if reading.group is None:
            reading.assign(topics, partitions, span)
        else:
            reading.subscribe(topics)
        while not reading.is_over:
            reading.read_on()
    except KeyboardInterrupt:
        ends_by_itself = reading.most is not None or reading.exit_at_end or span.until_ms is not None
        return INTERRUPTED if ends_by_itself else 0
    finally:
        reading.consumer.close()
    return 0


def _check_member(offsets: tuple[str, ...], partitions: tuple[int, ...]) -> None:
    """Refuses what a group decides."""
    if partitions:
        raise click.UsageError("--group gives each member its partitions: it does not go with --partition")
    for each in offsets:
        if each not in ("beginning", "end"):
            raise click.UsageError(
                f"--group goes on where it has committed: --offset {each} does not go with it; beginning and end say "
                "where to begin without a commit"
            )


def _printer(shape: str | None, json: bool, key_delimiter: str | None, delimiter: str, null: bytes) -> Printer:
    if json:
        if shape is not None or key_delimiter is not None:
            raise click.UsageError("--json says what is printed: it goes with neither --format nor --key-delimiter")
        return as_json
    if shape is None:
        key = "" if key_delimiter is None else "%k" + key_delimiter.replace("%", "%%")
        shape = f"{key}%s" + delimiter.replace("%", "%%")
    elif key_delimiter is not None:
        raise click.UsageError("--format says what is printed: it does not go with --key-delimiter")
    try:
        return formatted(shape, shown=sys.stdout.isatty(), null=null)
    except (UnknownTokenError, UnknownEscapeError) as problem:
        raise click.UsageError(str(problem)) from None
