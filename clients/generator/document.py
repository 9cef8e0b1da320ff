"""Types and operations of `/openapi.json`, as the generators of clients need them."""

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
}  # enumerations with a name of their own: the property or query parameter with their values


@dataclass(frozen=True)
class Type:
    """JSON type."""

    kind: str  # integer, number, string, boolean, any, list, map, enum, or object
    nullable: bool = False
    name: str = ""  # of an enumeration or an object
    inner: Type | None = None  # type of the elements of a list, or of the values of a map
    either: tuple[Type, ...] = ()  # possible types of `any`, if they are defined


@dataclass(frozen=True)
class Property:
    """Property of an object, or a query parameter."""

    name: str
    type: Type
    required: bool
    about: str


@dataclass(frozen=True)
class Shape:
    """Object type."""

    name: str
    about: str
    properties: tuple[Property, ...]
    in_requests: bool  # whether requests contain it

    @property
    def required(self) -> list[Property]:
        return [field for field in self.properties if field.required]

    @property
    def optional(self) -> list[Property]:
        return [field for field in self.properties if not field.required]


@dataclass(frozen=True)
class Operation:
    """Method at a path."""

    subject: str
    name: str  # in snake case
    method: str
    path: str
    about: str
    path_parameters: tuple[Property, ...]
    query: tuple[Property, ...]
    body: Type | None
    answer: Type | None  # None without a response body
    media: str  # json, text, or events: a stream of values of the type

    @property
    def query_name(self) -> str:
        """Name of the type of its query parameters."""
        return pascal(f"{self.subject}_{self.name}")


@dataclass
class Document:
    """All types and operations."""

    enums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    def by_subject(self) -> Iterator[tuple[str, list[Operation]]]:
        for subject in dict.fromkeys(operation.subject for operation in self.operations):
            yield subject, [operation for operation in self.operations if operation.subject == subject]


def pascal(name: str) -> str:
    """Convert snake case to GroupsWait."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))


def camel(name: str) -> str:
    """Convert snake case to clientId."""
    whole = pascal(name)
    return whole[:1].lower() + whole[1:]


def read_document(served: dict[str, Any]) -> Document:
    return _Reader(served).read()


class _Reader:
    def __init__(self, served: dict[str, Any]) -> None:
        self._served = served
        self._schemas: dict[str, Any] = served["components"]["schemas"]
        self._document = Document()
        self._sent_names: set[str] = set()
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
        """Set the names of enumerations first, so that they do not depend on where the values occur first."""
        parameters = {
            f"{operation['operationId']}.{holder['name']}": holder["schema"]
            for methods in self._served["paths"].values()
            for operation in methods.values()
            for holder in operation.get("parameters", ())
        }
        for name, place in NAMED.items():
            shape, *keys = place.split(".")
            schema = parameters.get(place) or self._schemas[shape]
            for key in () if place in parameters else keys:
                schema = schema["properties"][key]
            self._enum_names[_words(schema)] = name

    def _operation(self, path: str, method: str, operation: dict[str, Any]) -> Operation:
        subject, _, name = operation["operationId"].partition("_")
        parameters = operation.get("parameters", [])
        body = operation.get("requestBody")
        body_type = None if body is None else self._type(body["content"]["application/json"]["schema"], pascal(name))
        if body_type is not None:
            self._sent_names.add(body_type.name)
        answer, media = self._answer(
            next(parameter for parameter in operation["responses"].items() if parameter[0] < "300")[1]
        )

        def of(location: str) -> tuple[Property, ...]:
            owner = operation["operationId"]
            return tuple(
                self._property(owner, parameter["name"], parameter["schema"], required=parameter["required"])
                for parameter in parameters
                if parameter["in"] == location
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
            self._property(name, key, property_schema, required=key in required)
            for key, property_schema in schema["properties"].items()
        )
        about = _sentence(schema.get("description"))
        self._document.shapes[name] = Shape(name, about, properties, name in self._sent_names)

    def _property(self, owner: str, name: str, schema: dict[str, Any], *, required: bool) -> Property:
        value_type = self._type(schema, pascal(f"{owner}_{name}"))
        return Property(name, value_type, required, _sentence(schema.get("description")))

    def _type(self, schema: dict[str, Any], name: str) -> Type:
        """Return the type of a schema; `name` is for an object or an enumeration without a name."""
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
            self._sent_names.add(name)
            self._shape(name, schema)
            return Type("object", name=name)
        if kind == "object":
            inner = schema.get("additionalProperties")
            return Type("map", inner=self._type(inner, name) if isinstance(inner, dict) else Type("any"))
        return Type(kind)

    def _either(self, schema: dict[str, Any], name: str) -> Type:
        choices = [option for option in schema["anyOf"] if option.get("type") != "null"]
        nullable = len(choices) < len(schema["anyOf"])
        if "enum" in schema:
            choices = [{"enum": schema["enum"]}]
        if len(choices) > 1:
            return Type("any", nullable, either=tuple(self._type(option, name) for option in choices))
        only = self._type(choices[0], name)
        return Type(only.kind, nullable, only.name, only.inner, only.either)

    def _enum(self, schema: dict[str, Any], name: str) -> Type:
        words = _words(schema)
        enum_name = self._enum_names.setdefault(words, name)
        self._document.enums[enum_name] = words
        return Type("enum", name=enum_name)


def _words(schema: dict[str, Any]) -> tuple[str, ...]:
    values = schema if "enum" in schema else next(word for word in schema["anyOf"] if "enum" in word)
    return tuple(word for word in values["enum"] if word is not None)


def _sentence(text: str | None) -> str:
    """Return the first paragraph on one line, as in a comment."""
    return " ".join((text or "").strip().split("\n\n")[0].split()).replace("*/", "* /")
