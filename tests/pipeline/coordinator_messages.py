"""Log messages of the coordinators of a release: those of the table, and those in a release's classes.

Run as a module with a release, it prints the messages that only one of both has. It needs a JDK, and the release's jars
in Maven's repository.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

TABLE = Path(__file__).with_suffix(".txt")
NO_EVENT = "no event"
_JARS = ("kafka-group-coordinator", "kafka-share-coordinator", "kafka-coordinator-common")
_REPOSITORY = Path.home() / ".m2/repository/org/apache/kafka"
_LEVELS = ("info", "warn", "error")
_PLACEHOLDER = re.compile(r"\{[\w.]*\}")


@dataclass(frozen=True)
class Message:
    """A message of the table. `event` is its kind, or the reason why it has none."""

    releases: tuple[str, ...]
    event: str
    text: str
    is_debug: bool

    @property
    def template(self) -> str:
        """Return the message with Kafka's placeholders."""
        return _PLACEHOLDER.sub("{}", self.text)


def messages() -> Iterator[Message]:
    event = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("== "):
            event = line.removeprefix("== ")
        elif line and not line.startswith("#"):
            releases, _, text = line.partition("  ")
            yield Message(
                tuple(releases.split()), event.removesuffix(" (DEBUG)"), text.lstrip(), event.endswith(" (DEBUG)")
            )


def messages_in_classes(release: str) -> set[str]:
    """Return the strings that a release's classes pass to a logger at INFO and above, except concatenated ones."""
    strings: set[str] = set()
    with TemporaryDirectory() as folder:
        for jar in _JARS:
            with zipfile.ZipFile(_REPOSITORY / jar / release / f"{jar}-{release}.jar") as archive:
                archive.extractall(folder)
        classes = [str(path) for path in Path(folder).rglob("*.class") if "generated" not in path.parts]
        for at in range(0, len(classes), 60):
            command = ["javap", "-c", "-p", *classes[at : at + 60]]
            code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            strings.update(_logged(code))
    return strings


def _logged(code: str) -> Iterator[str]:
    string = ""
    for line in code.splitlines():
        if (constant := re.search(r"// String (.* .*)$", line)) is not None:
            string = constant[1].replace("\\'", "'")
        elif (call := re.search(r"InterfaceMethod org/slf4j/Logger\.(\w+):", line)) is not None:
            if call[1] in _LEVELS and string:
                yield string
        elif re.match(r"  \S.*\(.*\)", line):
            string = ""  # another method


if __name__ == "__main__":
    of_release = ".".join(sys.argv[1].split(".")[:2])
    in_table = {m.template for m in messages() if of_release in m.releases and not m.is_debug}
    in_classes = messages_in_classes(sys.argv[1])
    for text in sorted(in_classes - in_table):
        print("only in the classes:", text)
    for text in sorted(in_table - in_classes):
        print("only in the table:", text)
