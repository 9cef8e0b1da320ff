"""Wrong responses of a server, counted by kind, with one example each."""

from collections import Counter

from kohort.protocol.errors import ErrorCode


class Failures:
    """Failures of a server; empty if every response was right."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def add(self, kind: str, example: str = "", count: int = 1) -> None:
        """Count a failure; keep the first example of each kind."""
        self.counts[kind] += count
        self.examples.setdefault(kind, example)

    def add_code(self, api: str, code: int) -> None:
        self.add(f"{api} answered {error_name(code)}")

    def include(self, failures: "Failures") -> None:
        for kind, count in failures.counts.items():
            self.add(kind, failures.examples[kind], count)


class UnmeasurableError(Exception):
    """Measurement that could not be made; the message gives the reason."""


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, or the number of an unknown code."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
