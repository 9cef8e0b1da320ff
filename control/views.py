"""What an endpoint answers of an object: its attributes, under the names that the answer's model gives them."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)


def view(model: type[ModelT], value: object, **fields: Any) -> ModelT:
    """An answer of a model: each field is the attribute of that name, unless it is among `fields`."""
    read = {name: getattr(value, name) for name in model.model_fields if name not in fields}
    return model.model_validate(read | fields)
