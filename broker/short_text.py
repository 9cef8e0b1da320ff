"""Values as log lines show them: a request may hold 100 MB, and a line shows its first words."""

from dataclasses import fields, is_dataclass
from reprlib import Repr

SECRETS = frozenset({"auth_bytes", "salted_password"})
"""Fields of requests that nobody may read in a log."""

LONGEST = 4_000
"""Letters of a value that a log line shows."""


class _Short(Repr):
    """Shows the first elements of what is long, without making the whole text first."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = 10
        self.maxstring = self.maxother = 200

    def repr_bytes(self, value: bytes, level: int) -> str:
        """The first bytes, and how many there are."""
        return repr(value) if len(value) <= 50 else f"{value[:50]!r}… ({len(value)} bytes)"

    repr_bytearray = repr_bytes

    def repr_str(self, text: str, level: int) -> str:
        """The first letters."""
        return repr(text) if len(text) <= self.maxstring else f"{text[: self.maxstring]!r}… ({len(text)} letters)"

    def repr_instance(self, value: object, level: int) -> str:
        """A dataclass by its fields; others as they show themselves."""
        if not is_dataclass(value):
            return super().repr_instance(value, level)
        if level <= 0:
            return f"{type(value).__name__}(…)"
        shown = (
            f"{each.name}={'(secret)' if each.name in SECRETS else self.repr1(getattr(value, each.name), level - 1)}"
            for each in fields(value)
        )
        return f"{type(value).__name__}({', '.join(shown)})"


_SHORT = _Short()


def short_text(value: object) -> str:
    """`repr` of a value, cut where it would be long; it takes no longer for a long one."""
    text = _SHORT.repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
