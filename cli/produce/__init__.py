"""`kohort produce`: writes records from stdin to a topic of any cluster, like kcat."""

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
@click.option("--key-delimiter", "-K", callback=bytes_between, metavar="TEXT", help="Text between key and value.")
@click.option("--key", "-k", help="Key of records without one.")
@click.option(
    "--header", "-H", "headers", multiple=True, metavar="NAME=VALUE", help="Header of every record; repeatable."
)
@click.option(
    "--partition", "-p", type=click.IntRange(0), help="Partition of all records.  [default: by key, as in Java]"
)
@click.option(
    "--json", "-J", "as_json", is_flag=True, help="Read one object per line, as `kohort consume -J` prints it."
)
@click.option("--null", "-Z", "empty_is_null", is_flag=True, help="Treat empty values and keys as null.")
@click.option(
    "--delimiter",
    "-D",
    callback=bytes_between,
    default="\\n",
    show_default=True,
    metavar="TEXT",
    help="Text between records.",
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
    """Write records from stdin to TOPIC, one per line.

    With -J a line is an object with payload, key, headers, partition and ts (milliseconds); write bytes that are not
    UTF-8 as {"base64": "..."}. The first invalid line ends it; the records before it are written. Exit code 1: a record
    was not written; 130: Ctrl-C, after the records read so far were written.
    """
    if as_json and key_delimiter:
        raise click.UsageError("--json cannot be combined with --key-delimiter")
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
        say("enter one record per line; Ctrl-D ends", err=True)
    sys.exit(_send(Sending(producer, topic, troubles), reader, delimiter, quiet))


def _send(sending: Sending, reader: LineReader, delimiter: bytes, quiet: bool) -> int:
    code = 0
    try:
        try:
            sending.send_all(STDIN, reader, delimiter)
        except LineError as error:
            code = 1
            say(f"kohort: {error}", err=True)
        except KeyboardInterrupt:
            code = INTERRUPTED
        sending.finish()
    except KeyboardInterrupt:  # while waiting for responses
        code = INTERRUPTED
    sending.tell(quiet)
    return 1 if sending.failures else code


def _headers(texts: tuple[str, ...]) -> tuple[tuple[str, bytes | None], ...]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise click.BadParameter(f"{name}: expected NAME=VALUE", param_hint="--header")
    return tuple((name, os.fsencode(value)) for name, _, value in pairs)
