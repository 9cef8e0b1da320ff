"""Kafka's checkpoint files and `partition.metadata`.

Source: Kafka's `CheckpointFile`, `LeaderEpochCheckpointFile`, `OffsetCheckpointFile`, `PartitionMetadataFile`.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"


class CheckpointError(ValueError):
    """A malformed checkpoint. The text names the file and the reason."""


def checkpoint(rows: Sequence[Iterable[object]]) -> bytes:
    """Format rows as a checkpoint file."""
    lines = ["0", str(len(rows)), *(" ".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def read_checkpoint(path: Path) -> list[list[str]]:
    """Read the rows of a checkpoint file; a missing file has no rows.

    Raises:
        CheckpointError: The file is malformed.
        OSError: The file cannot be read.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise CheckpointError(f"{path} is not text") from None
    if len(lines) < 2 or lines[0].strip() != "0" or lines[1].strip() != str(len(lines) - 2):
        raise CheckpointError(f"{path} is cut short, or of a newer format")
    return [line.split() for line in lines[2:]]


def read_epochs(folder: Path) -> tuple[tuple[int, int], ...]:
    """Read the leader epochs of a partition and their start offsets; raises like `read_checkpoint`."""
    path = folder / LEADER_EPOCHS
    try:
        return tuple((int(epoch), int(start)) for epoch, start in read_checkpoint(path))
    except CheckpointError:
        raise
    except ValueError:
        raise CheckpointError(f"{path} holds a line that is not an epoch and an offset") from None


def read_offsets(path: Path) -> dict[str, int]:
    """Read offsets by partition folder name; raises like `read_checkpoint`."""
    try:
        return {f"{topic}-{partition}": int(offset) for topic, partition, offset in read_checkpoint(path)}
    except CheckpointError:
        raise
    except ValueError:
        raise CheckpointError(f"{path} holds a line that is not a topic, a partition and an offset") from None


def offsets_checkpoint(offsets: dict[str, int]) -> bytes:
    """Format the file that `read_offsets` reads."""
    return checkpoint([(*name.rpartition("-")[::2], offset) for name, offset in sorted(offsets.items())])


def partition_metadata(topic_id: UUID) -> bytes:
    """Format the file that contains the topic id of a partition (KIP-516)."""
    return f"version: 0\ntopic_id: {show_id(topic_id)}\n".encode()


def read_partition_metadata(folder: Path) -> UUID | None:
    """Read the topic id of a partition, or None if the file does not exist; raises like `read_checkpoint`."""
    path = folder / PARTITION_METADATA
    try:
        fields = dict(line.split(": ", 1) for line in path.read_text("utf-8").splitlines() if line)
        return read_id(fields["topic_id"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise CheckpointError(f"{path} does not hold a topic's id") from None


def show_id(topic_id: UUID) -> str:
    """Format an id as Kafka does."""
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def read_id(text: str) -> UUID:
    """Parse an id in Kafka's format.

    Raises:
        ValueError: The text is not an id.
    """
    return UUID(bytes=urlsafe_b64decode(text.strip() + "=="))
