"""`kohort produce`: records from stdin into a topic of any cluster, in the manner of kcat."""

from __future__ import annotations

import os
import sys

import click

from kohort.cli.delimiters import bytes_between
from kohort.cli.early_end import INTERRUPTED, ends_with_signals
from kohort.cli.librdkafka import (
    ClusterOptions,
    Troubles,
    cluster_options,
    its_errors,
    partitions_of,
    settings_of,
)
from kohort.cli.output import say
from kohort.cli.produce.record_lines import LineError, LineReader
from kohort.cli.produce.sending import Sending

STDIN = 0


@click.command()
@click.argument("topic")
@click.option(
    "--key-delimiter", "-K", callback=bytes_between, metavar="TEXT", help="What stands between key and value."
)
@click.option("--key", "-k", help="The key of all records that have none.")
@click.option("--header", "-H", "headers", multiple=True, metavar="NAME=VALUE", help="Of all of them; repeatable.")
@click.option("--partition", "-p", type=click.IntRange(0), help="Where all go.  [default: by key, as in Java]")
@click.option("--json", "-J", "as_json", is_flag=True, help="Each line is an object, as `kohort consume -J` prints it.")
@click.option("--null", "-Z", "empty_is_null", is_flag=True, help="Empty values and keys are null.")
@click.option(
    "--delimiter",
    "-D",
    callback=bytes_between,
    default="\\n",
    show_default=True,
    metavar="TEXT",
    help="Between records.",
)
@click.option("--compression", "-z", type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]), default="none")
@cluster_options
def produce(
    topic: str,
    key_delimiter: bytes | None,
    key: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    as_json: bool,
    empty_is_null: bool,
    delimiter: bytes,
    compression: str,
    cluster: ClusterOptions,
    quiet: bool,
) -> None:
    """Write records from stdin to TOPIC, one a line.

    With -J a line is an object with payload, key, headers, partition and ts (milliseconds); bytes that are no text are
    {"base64": "..."}. The first line that is no record ends it; those before it are written. Exit code 1 when a
    record was not written, 130 after Ctrl-C, which ends it when what was read is written.
    """
    if as_json and key_delimiter:
        raise click.UsageError("--json and --key-delimiter both say where the key is; give one of them")
    key_bytes = None if key is None else os.fsencode(key)
    reader = LineReader(key_delimiter, as_json, empty_is_null, key_bytes, _headers(headers), partition)
    troubles = Troubles()
    ours = {"partitioner": "murmur2_random", "enable.idempotence": True, "compression.codec": compression}
    settings = settings_of(cluster, "kohort-produce", troubles, ours)
    ends_with_signals()
    with its_errors():
        from confluent_kafka import Producer

        producer = Producer(settings)
        partitions_of(producer, topic)
    if not quiet and os.isatty(STDIN):
        say("one record a line; Ctrl-D ends", err=True)
    sys.exit(_send(Sending(producer, topic, troubles), reader, delimiter, quiet))


def _send(sending: Sending, reader: LineReader, delimiter: bytes, quiet: bool) -> int:
    """Returns the exit code."""
    code = 0
    try:
        try:
            sending.send_all(STDIN, reader, delimiter)
        except LineError as problem:
            code = 1
            say(f"kohort: {problem}", err=True)
        except KeyboardInterrupt:
            code = INTERRUPTED
        sending.finish()
    except KeyboardInterrupt:  # while it waited for answers: the second one, or the first
        code = INTERRUPTED
    sending.tell(quiet)
    return 1 if sending.failures else code


def _headers(given: tuple[str, ...]) -> tuple[tuple[str, bytes | None], ...]:
    pairs = [each.partition("=") for each in given]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise click.BadParameter(f"{name}: wants NAME=VALUE", param_hint="--header")
    return tuple((name, os.fsencode(value)) for name, _, value in pairs)
