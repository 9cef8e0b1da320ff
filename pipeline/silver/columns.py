"""Arrow columns from numpy arrays and from constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kohort.pipeline.records.offset_commits import Ints


def integers(values: Ints, kind: pa.DataType, null: Any = None) -> pa.Array:
    return pa.array(values, mask=null).cast(kind)


def coded(texts: pa.Array, indexes: Ints) -> pa.DictionaryArray:
    """Return a dictionary column with the text that `indexes` selects for each row. Null texts give nulls."""
    distinct = texts.dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(pa.array(indexes)), distinct.dictionary)


def coded_constant(text: str | None, length: int) -> pa.DictionaryArray:
    return coded(pa.array([text], pa.string()), np.zeros(length, np.int64))


def constant(text: str, length: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(length, np.int8)), pa.array([text])).cast(pa.string())


def constant_number(number: int, length: int, kind: pa.DataType) -> pa.Array:
    return integers(np.full(length, number, np.int64), kind)
