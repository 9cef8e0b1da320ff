"""Values as shown in log lines, shortened: a request may hold 100 MB."""

from dataclasses import fields, is_dataclass
from reprlib import Repr

SECRETS = frozenset({"auth_bytes", "salted_password"})  # fields of requests that must not appear in a log

LONGEST = 4_000  # maximum characters of a value in a log line


class _Short(Repr):
    """A `repr` that shows the first elements of a long value, without creating the whole text first."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = 10
        self.maxstring = self.maxother = 200

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value) if len(value) <= 50 else f"{value[:50]!r}… ({len(value)} bytes)"

    repr_bytearray = repr_bytes

    def repr_str(self, text: str, level: int) -> str:
        return repr(text) if len(text) <= self.maxstring else f"{text[: self.maxstring]!r}… ({len(text)} letters)"

    def repr_instance(self, value: object, level: int) -> str:
        if not is_dataclass(value):
            return super().repr_instance(value, level)
        if level <= 0:
            return f"{type(value).__name__}(…)"
        values = (
            f"{field.name}={'(secret)' if field.name in SECRETS else self.repr1(getattr(value, field.name), level - 1)}"
            for field in fields(value)
        )
        return f"{type(value).__name__}({', '.join(values)})"


_SHORT = _Short()


def short_text(value: object) -> str:
    """Return the `repr` of a value, shortened to LONGEST characters. Long values take no longer."""
    text = _SHORT.repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
