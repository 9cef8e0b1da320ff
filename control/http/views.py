"""Conversion of objects to response models of endpoints."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)


def view(model: type[ModelT], value: object, **fields: Any) -> ModelT:
    """Return a model whose fields are the attributes of `value` with the same names, unless they are in `fields`.

    Fields that are models themselves are converted in the same way.
    """
    read = {name: getattr(value, name) for name in model.model_fields if name not in fields}
    return model.model_validate(read | fields, from_attributes=True)
