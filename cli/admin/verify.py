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

    Reports for each partition whether every batch of its segments is complete, has the right checksum and follows the
    previous one. Indexes are not checked. Exit code 0: everything is intact; 1: something is damaged, or there is
    nothing to check.

    The broker that writes there should be stopped: an unfinished write looks like a truncated batch.
    """
    try:
        folders = partition_folders(folder)
    except OSError as error:
        _refuse(f"{folder} cannot be listed: {error.strerror}")
    if not folders:
        _refuse(f"{folder} contains no partitions; name the directory with folders such as __consumer_offsets-0")
    damaged = 0
    for path in folders:
        state = check_partition(path)
        damaged += bool(state.faults)
        say(_line(state))
        for fault in state.faults:
            say(f"  {fault}")
    say(f"{len(folders)} partitions, {damaged} damaged")
    if damaged:
        raise SystemExit(1)


def _refuse(message: str) -> NoReturn:
    say(f"kohort: {message}", err=True)
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
