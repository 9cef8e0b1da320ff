"""Checks of values read from untrusted files, before they are written to tables.

JSON allows unbounded numbers (`1e400`), `NaN` and lone surrogates; tables hold none of these.
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
)  # raised while reading an invalid line, including JSON that is nested a thousand levels deep

# end of 2099; tables have a row for each day from a group's first event to its last, so no time may be far away
LAST_MOMENT_MS = 4_102_444_799_999


def whole(value: Any, bits: int = 64) -> int:
    """Convert to an integer of at most `bits` bits.

    Raises:
        ValueError, TypeError: The value is not a number or out of range.
    """
    try:
        number = int(value)
    except OverflowError:
        raise ValueError(f"{value} is not a finite number") from None
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"number of {number.bit_length()} bits exceeds the maximum of {bits}")
    return number


def moment_ms(value: Any) -> int:
    """Check a time in milliseconds since 1970 and return it.

    Raises:
        ValueError, TypeError: The value is not a number, negative or after LAST_MOMENT_MS.
    """
    number = whole(value)
    if not 0 <= number <= LAST_MOMENT_MS:
        raise ValueError(f"{number} ms after 1970 is before 1970 or after 2099")
    return number


def known_moments(times_ms: Ints) -> Ints:
    """Replace times of records before 1970 by -1 (unknown) and those after 2099 by LAST_MOMENT_MS."""
    return np.clip(times_ms, -1, LAST_MOMENT_MS)


def text(value: Any) -> str:
    """Convert to text that can be encoded as UTF-8; lone surrogates become escapes."""
    return str(value).encode("utf-8", "backslashreplace").decode()
