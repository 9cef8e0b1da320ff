"""What `/openapi.json` says, as the generators of clients need it: types and operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

NAMED = {
    "AclPermission": "AclState.permission",
    "ApiName": "NewRule.match.api",
    "Cause": "EventRow.cause",
    "EventKind": "EventRow.kind",
    "Gate": "GateState.name",
    "GroupType": "GroupState.type",
    "KafkaError": "NewRule.with.name",
    "Outcome": "RebalanceState.outcome",
    "Protocol": "groups_wait.migrated_to",
    "ResourceType": "AclState.resource_type",
    "State": "GroupState.state",
    "Until": "NewRule.with.until",
    "WaitsFor": "groups_wait.waits_for",
    "WantedState": "groups_wait.state",
}
"""Enumerations with a name of their own: the property, or the query parameter, that says which words there are."""


@dataclass(frozen=True)
class Type:
    """A type of JSON."""

    kind: str
    """integer, number, string, boolean, any, list, map, enum, or object."""
    nullable: bool = False
    name: str = ""
    """The name of an enumeration or an object."""
    inner: Type | None = None
    """What a list or the values of a map are."""
    either: tuple[Type, ...] = ()
    """What `any` may be, if that is known."""


@dataclass(frozen=True)
class Property:
    """A property of an object, or a query parameter."""

    name: str
    type: Type
    required: bool
    about: str


@dataclass(frozen=True)
class Shape:
    """An object."""

    name: str
    about: str
    properties: tuple[Property, ...]
    given: bool
    """Whether it is sent to the broker, not answered by it."""

    @property
    def required(self) -> list[Property]:
        return [each for each in self.properties if each.required]

    @property
    def optional(self) -> list[Property]:
        return [each for each in self.properties if not each.required]


@dataclass(frozen=True)
class Operation:
    """A method at a path."""

    subject: str
    name: str
    """In snake case."""
    method: str
    path: str
    about: str
    path_parameters: tuple[Property, ...]
    query: tuple[Property, ...]
    body: Type | None
    answer: Type | None
    """None: nothing is answered."""
    media: str
    """json, text, or events: the answer's type, one after the other."""

    @property
    def query_name(self) -> str:
        """What its query parameters are called together."""
        return pascal(f"{self.subject}_{self.name}")


@dataclass
class Document:
    """All of it."""

    enums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    def by_subject(self) -> Iterator[tuple[str, list[Operation]]]:
        """The operations of each subject."""
        for subject in dict.fromkeys(each.subject for each in self.operations):
            yield subject, [each for each in self.operations if each.subject == subject]


def pascal(name: str) -> str:
    """Words with capitals, from snake case: GroupsWait."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))


def camel(name: str) -> str:
    """The first word small: clientId."""
    whole = pascal(name)
    return whole[:1].lower() + whole[1:]


def read_document(served: dict[str, Any]) -> Document:
    """What the generators need of it."""
    return _Reader(served).read()


class _Reader:
    def __init__(self, served: dict[str, Any]) -> None:
        self._served = served
        self._schemas: dict[str, Any] = served["components"]["schemas"]
        self._document = Document()
        self._given: set[str] = set()
        self._enum_names: dict[tuple[str, ...], str] = {}

    def read(self) -> Document:
        self._name_enums()
        for path, methods in self._served["paths"].items():
            for method, operation in methods.items():
                self._document.operations.append(self._operation(path, method, operation))
        for name, schema in sorted(self._schemas.items()):
            self._shape(name, schema)
        self._document.enums = dict(sorted(self._document.enums.items()))
        self._document.shapes = dict(sorted(self._document.shapes.items()))
        return self._document

    def _name_enums(self) -> None:
        """Names before anything is read: the words count, not where they come first."""
        parameters = {
            f"{operation['operationId']}.{each['name']}": each["schema"]
            for methods in self._served["paths"].values()
            for operation in methods.values()
            for each in operation.get("parameters", ())
        }
        for name, where in NAMED.items():
            shape, *keys = where.split(".")
            schema = parameters.get(where) or self._schemas[shape]
            for key in () if where in parameters else keys:
                schema = schema["properties"][key]
            self._enum_names[_words(schema)] = name

    def _operation(self, path: str, method: str, operation: dict[str, Any]) -> Operation:
        subject, _, name = operation["operationId"].partition("_")
        parameters = operation.get("parameters", [])
        body = operation.get("requestBody")
        body_type = None if body is None else self._type(body["content"]["application/json"]["schema"], pascal(name))
        if body_type is not None:
            self._given.add(body_type.name)
        answer, media = self._answer(next(each for each in operation["responses"].items() if each[0] < "300")[1])

        def of(where: str) -> tuple[Property, ...]:
            owner = operation["operationId"]
            return tuple(
                self._property(owner, each["name"], each["schema"], required=each["required"])
                for each in parameters
                if each["in"] == where
            )

        about = _sentence(operation.get("description"))
        return Operation(subject, name, method.upper(), path, about, of("path"), of("query"), body_type, answer, media)

    def _answer(self, response: dict[str, Any]) -> tuple[Type | None, str]:
        for media, content in response.get("content", {}).items():
            schema = content["schema"]
            if media == "text/event-stream":
                return self._type(schema["contentSchema"], ""), "events"
            if media.startswith("text/"):
                return Type("string"), "text"
            return (self._type(schema, "") if schema else None), "json"
        return None, "json"

    def _shape(self, name: str, schema: dict[str, Any]) -> None:
        required = schema.get("required", ())
        properties = tuple(
            self._property(name, key, each, required=key in required) for key, each in schema["properties"].items()
        )
        about = _sentence(schema.get("description"))
        self._document.shapes[name] = Shape(name, about, properties, name in self._given)

    def _property(self, owner: str, name: str, schema: dict[str, Any], *, required: bool) -> Property:
        known = self._type(schema, pascal(f"{owner}_{name}"))
        return Property(name, known, required, _sentence(schema.get("description")))

    def _type(self, schema: dict[str, Any], name: str) -> Type:
        """The type that a schema says; `name` is for an object or an enumeration that has none."""
        if "$ref" in schema:
            return Type("object", name=schema["$ref"].rpartition("/")[2])
        if "anyOf" in schema:
            return self._either(schema, name)
        if "enum" in schema:
            return self._enum(schema, name)
        kind = schema.get("type", "any")
        if kind == "array":
            return Type("list", inner=self._type(schema["items"], name))
        if kind == "object" and "properties" in schema:
            self._given.add(name)
            self._shape(name, schema)
            return Type("object", name=name)
        if kind == "object":
            inner = schema.get("additionalProperties")
            return Type("map", inner=self._type(inner, name) if isinstance(inner, dict) else Type("any"))
        return Type(kind)

    def _either(self, schema: dict[str, Any], name: str) -> Type:
        choices = [each for each in schema["anyOf"] if each.get("type") != "null"]
        nullable = len(choices) < len(schema["anyOf"])
        if "enum" in schema:
            choices = [{"enum": schema["enum"]}]
        if len(choices) > 1:
            return Type("any", nullable, either=tuple(self._type(each, name) for each in choices))
        only = self._type(choices[0], name)
        return Type(only.kind, nullable, only.name, only.inner, only.either)

    def _enum(self, schema: dict[str, Any], name: str) -> Type:
        words = _words(schema)
        known = self._enum_names.setdefault(words, name)
        self._document.enums[known] = words
        return Type("enum", name=known)


def _words(schema: dict[str, Any]) -> tuple[str, ...]:
    """The words of an enumeration, of one that may be null too."""
    known = schema if "enum" in schema else next(each for each in schema["anyOf"] if "enum" in each)
    return tuple(each for each in known["enum"] if each is not None)


def _sentence(text: str | None) -> str:
    """The first paragraph, on one line, as a comment may have it."""
    return " ".join((text or "").strip().split("\n\n")[0].split()).replace("*/", "* /")
