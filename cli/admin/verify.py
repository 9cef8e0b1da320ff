"""`kohort admin verify DIR`."""

from pathlib import Path
from typing import NoReturn

import click

from kohort.cli.output import say
from kohort.storage.disk.checking import PartitionState, check_partition, partition_folders


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
def verify(folder: Path) -> None:
    """Check the files of a data directory in Kafka's layout, and change nothing.

    Says for each partition whether every batch of its segments is whole, has the right checksum and follows the one
    before it. Indexes are not checked. Exit code 0: everything is intact; 1: something is not, or there is nothing to
    check.

    The broker that writes there should be stopped: what it is just writing looks like a batch cut short.
    """
    try:
        folders = partition_folders(folder)
    except OSError as problem:
        _refuse(f"{folder} cannot be listed: {problem.strerror}")
    if not folders:
        _refuse(f"{folder} holds no partitions: name the directory with folders like __consumer_offsets-0 in it")
    damaged = 0
    for each in folders:
        state = check_partition(each)
        damaged += bool(state.faults)
        say(_line(state))
        for fault in state.faults:
            say(f"  {fault}")
    say(f"{len(folders)} partitions, {damaged} damaged")
    if damaged:
        raise SystemExit(1)


def _refuse(sentence: str) -> NoReturn:
    say(f"kohort: {sentence}", err=True)
    raise SystemExit(1)


def _line(state: PartitionState) -> str:
    verdict = "DAMAGED" if state.faults else "intact"
    if not state.segments:
        return f"{state.name}: {verdict}"
    batches = sum(segment.batches for segment in state.segments)
    size = sum(segment.size_bytes for segment in state.segments)
    return (
        f"{state.name}: {verdict}, offsets {state.segments[0].base_offset} to {state.segments[-1].next_offset}, "
        f"{len(state.segments)} segments, {batches} batches, {size} bytes"
    )
