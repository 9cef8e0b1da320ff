"""What a server did wrong, counted by kind, with one example each. A fast wrong server must not look good."""

from collections import Counter

from kohort.protocol.errors import ErrorCode


class Failures:
    """Empty when every reply was right."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def add(self, kind: str, example: str = "", count: int = 1) -> None:
        """Counts a failure; the first example of a kind is kept."""
        self.counts[kind] += count
        self.examples.setdefault(kind, example)

    def add_code(self, api: str, code: int) -> None:
        """Counts an error code that should not have come."""
        self.add(f"{api} answered {error_name(code)}")

    def include(self, others: "Failures") -> None:
        """Adds what another one has counted."""
        for kind, count in others.counts.items():
            self.add(kind, others.examples[kind], count)


class UnmeasurableError(Exception):
    """The measurement could not be made; the text says why."""


def error_name(code: int) -> str:
    """The name of an error code, or the number when Kafka has no such code."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
