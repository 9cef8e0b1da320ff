"""Values out of files that anybody may have written, checked before a table takes them.

JSON has numbers without end (`1e400`), `NaN`, and halves of surrogates; tables have none of these.
"""

from __future__ import annotations

import csv
import struct
from typing import Any

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    struct.error,
    csv.Error,
)
"""What reading a line raises when the line is to blame, down to JSON that is nested a thousand times."""

LAST_MOMENT_MS = 253_402_300_799_999
"""The end of the year 9999, beyond which neither Python nor Spark has dates."""


def whole(value: Any, bits: int = 64) -> int:
    """A whole number that fits. Raises ValueError, TypeError."""
    try:
        number = int(value)
    except OverflowError:
        raise ValueError(f"{value} is no number that can be counted with") from None
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"a number of {number.bit_length()} bits, where {bits} are the most")
    return number


def moment_ms(value: Any) -> int:
    """Milliseconds since 1970; negative: none is known. Raises ValueError, TypeError."""
    number = whole(value)
    if number > LAST_MOMENT_MS:
        raise ValueError(f"{number} ms after 1970 is no date")
    return number


def text(value: Any) -> str:
    """Text that can be written as UTF-8: half a surrogate becomes its escape."""
    return str(value).encode("utf-8", "backslashreplace").decode()
