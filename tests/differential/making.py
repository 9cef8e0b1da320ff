"""Makes requests up: any API in any version, field by field, from the pools of `values.py`."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.differential.brokers_requests import as_brokers_make_it
from tests.differential.codec import Field, default_of, request_of, shape_of, spec_of
from tests.differential.sequence import Step, request
from tests.differential.values import CONFIGS, pool_for
from tests.talk.values import Value

ODDLY = 0.12
"""How often a field is odd, in a request that may be."""


def make_request(api: str, random: Random, speaker: str = "ada", **fixed: Value) -> Step:
    """Generate a request of some version, with the `fixed` top-level fields that the version has."""
    spec = spec_of(api)
    newest = random.random() < 0.5
    lowest = max(spec.min_version, spec.readable_from)
    version = spec.max_version if newest else random.randint(lowest, spec.max_version)
    return make_version(api, version, random, speaker, ODDLY if random.random() < 0.6 else 0.0, **fixed)


def make_version(
    api: str, version: int, random: Random, speaker: str = "ada", oddly: float = ODDLY, **fixed: Value
) -> Step:
    """Generate a request of this version, in which a field is invalid with probability `oddly`."""
    maker = _Maker(api, random, oddly)
    values = maker.structure(request_of(api, version), (api,))
    values |= {name: value for name, value in fixed.items() if name in values}
    return request(speaker, api, version, as_brokers_make_it(api, version, values))


class _Maker:
    def __init__(self, api: str, random: Random, oddly: float) -> None:
        self.api = api
        self.random = random
        self.oddly = oddly

    def structure(self, entity: type, path: tuple[str, ...]) -> dict[str, Value]:
        if path[-1] == "configs":
            return self._config(entity)
        values = {}
        for field in shape_of(entity).fields:
            if field.tag is not None and self.random.random() < 0.9:
                continue
            values[field.name] = self._field(field, (*path, field.name))
        return values

    def _config(self, entity: type) -> dict[str, Value]:
        name = self.random.choice(list(CONFIGS))
        values = {"name": name, "value": self.random.choice(CONFIGS[name])}
        for field in shape_of(entity).fields:
            if field.name not in values:
                values[field.name] = self._field(field, ("configs", field.name))
        return values

    def _field(self, field: Field, path: tuple[str, ...]) -> Value:
        if not field.is_array:
            return self._value(field, path)
        chance = self.random.random()
        if field.nullable and chance < 0.15:
            return None
        if chance < (0.5 if field.name in ("configs", "assignments") else 0.18):
            return []
        items = [self._value(field, path) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        if self.random.random() < self.oddly:
            items.append(self.random.choice(items))
        return items

    def _value(self, field: Field, path: tuple[str, ...]) -> Any:
        if field.structure is not None:
            if field.nullable and not field.is_array and self.random.random() < 0.6:
                return None
            return self.structure(field.structure, path)
        pool = pool_for(path)
        if pool is None:
            one = field._replace(is_array=False, nullable=False)
            return self.random.choice((False, True)) if field.kind == "bool" else default_of(one)
        values = pool.odd if pool.odd and self.random.random() < self.oddly else pool.usual
        chosen = self.random.choice(values)
        if chosen is None and not field.nullable:
            return "" if field.kind == "string" else default_of(field)
        return chosen
