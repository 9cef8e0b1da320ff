"""Values out of files that anybody may have written, checked before a table takes them.

JSON has numbers without end (`1e400`), `NaN`, and halves of surrogates; tables have none of these.
"""

from __future__ import annotations

import csv
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

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

LAST_MOMENT_MS = 4_102_444_799_999
"""The end of 2099. Tables have a row for each day from a group's first moment to its last: no time may be far away."""


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
    """Milliseconds since 1970, up to LAST_MOMENT_MS. Raises ValueError, TypeError."""
    number = whole(value)
    if not 0 <= number <= LAST_MOMENT_MS:
        raise ValueError(f"{number} ms after 1970 is before 1970 or after 2099")
    return number


def known_moments(times_ms: Ints) -> Ints:
    """Times of records, which may hold anything: what is before 1970 is unknown (-1), what is after 2099 its end."""
    return np.clip(times_ms, -1, LAST_MOMENT_MS)


def text(value: Any) -> str:
    """Text that can be written as UTF-8: half a surrogate becomes its escape."""
    return str(value).encode("utf-8", "backslashreplace").decode()
