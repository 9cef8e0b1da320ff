"""`kohort consume`: prints the records of topics of any cluster, like kcat."""

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
@click.option("--group", "-G", metavar="GROUP", help="Join this group, and commit the offsets of printed records.")
@click.option(
    "--offset",
    "-o",
    "offsets",
    multiple=True,
    metavar="WHERE",
    help="Where to begin: beginning, end, a number, -N for the last N of each partition, s@MOMENT; where to end: "
    "e@MOMENT. A moment is 2026-05-31T14:00, 14:00 of today, or milliseconds since 1970.  [default: beginning; "
    "with -G the committed offset, or the beginning]",
)
@click.option(
    "--partition", "-p", "partitions", multiple=True, type=click.IntRange(0), help="Only this partition; repeatable."
)
@click.option("--count", "-c", type=click.IntRange(1), help="Exit after this many records.")
@click.option("--exit-at-end", "-e", is_flag=True, help="Exit at the end of all partitions.")
@click.option(
    "--format",
    "-f",
    "shape",
    metavar="FORMAT",
    help="Format of a record: %s value, %S its length, %R the length as four bytes, %k key, %K its length, %T time "
    "in milliseconds, %h headers, %t topic, %p partition, %o offset, %% a percent sign; \\n, \\t, \\xNN.",
)
@click.option("--json", "-J", "json", is_flag=True, help="Print one object per line, as `kohort produce -J` reads it.")
@click.option("--key-delimiter", "-K", metavar="TEXT", help="Print the key and this text before the value.")
@click.option(
    "--delimiter", "-D", default="\\n", show_default=True, metavar="TEXT", help="Print this after each record."
)
@click.option("--null", "-Z", "null_as_word", is_flag=True, help="Print NULL for null keys and values.")
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
    """Print the records of topics. With -G, a TOPIC that begins with ^ is a pattern.

    Ctrl-C ends it with exit code 0, or with 130 if -c, -e or e@ should have ended it. On a terminal, unprintable
    characters are escaped.
    """
    span = span_of(offsets)
    if group is not None:
        _check_member(offsets, partitions)
    printer = _printer(shape, json, key_delimiter, delimiter, b"NULL" if null_as_word else b"")
    troubles = Troubles()
    ours = {
        "group.id": "kohort-consume" if group is None else group,  # librdkafka requires one, even without a member
        "auto.offset.reset": "earliest" if span.position == BEGINNING else "latest",
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
    if partitions:
        raise click.UsageError("--group cannot be combined with --partition: the group assigns partitions")
    for offset in offsets:
        if offset not in ("beginning", "end"):
            raise click.UsageError(
                f"--group cannot be combined with --offset {offset}: it continues at the committed offset; "
                "only beginning and end are allowed, for partitions without a commit"
            )


def _printer(shape: str | None, json: bool, key_delimiter: str | None, delimiter: str, null: bytes) -> Printer:
    if json:
        if shape is not None or key_delimiter is not None:
            raise click.UsageError("--json cannot be combined with --format or --key-delimiter")
        return as_json
    if shape is None:
        key = "" if key_delimiter is None else "%k" + key_delimiter.replace("%", "%%")
        shape = f"{key}%s" + delimiter.replace("%", "%%")
    elif key_delimiter is not None:
        raise click.UsageError("--format cannot be combined with --key-delimiter; use %k")
    try:
        return formatted(shape, escape=sys.stdout.isatty(), null=null)
    except (UnknownTokenError, UnknownEscapeError) as error:
        raise click.UsageError(str(error)) from None
