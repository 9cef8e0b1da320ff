"""Generates docs/reference/http.md from the OpenAPI document of the control address."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from kohort.control.http.app import make_app
from tests.control.talking import Lab
from tests.docs.sources import ROOT

HTTP = ROOT / "docs" / "reference" / "http.md"
LONGEST_ENUM = 12  # values of a type that are listed

_INTRODUCTION = """\
`kohort serve --control 9099` offers these requests; `GET /openapi.json` describes them for generators of clients. Bodies and
responses are JSON. Every error response is `{{"detail": "message"}}`: 404 for a group, member, node, topic, rule or gate that does
not exist, 408 for a wait that timed out, 422 for an invalid request. With a token, requests need the header
`Authorization: Bearer TOKEN`. The same address serves `/metrics` ([metrics](metrics.md)) and a page for browsers.
"""


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of a broker."""
    lab = Lab()
    try:
        return make_app(lab.stage.server, laboratory=lab.laboratory).openapi()
    finally:
        lab.stage.close()


def http_api(mark: str) -> str:
    """Return the text of the page."""
    return "\n".join(_lines(openapi(), mark))


def _lines(document: dict[str, Any], mark: str) -> Iterator[str]:
    yield "# HTTP API\n"
    yield mark
    yield _INTRODUCTION.replace("{{", "{").replace("}}", "}")
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append((path, method.upper(), operation))
    for tag, operations in sorted(by_tag.items()):
        yield f"## {tag}\n"
        for path, method, operation in operations:
            yield from _operation(path, method, operation)
    yield "## Objects\n"
    yield "Fields that may be left out are marked as optional.\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"### {name}\n"
        if schema.get("description"):
            yield f"{schema['description'].split(chr(10) * 2)[0]}\n"
        yield from _fields(schema)
        yield ""


def _operation(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### {method} {path}\n"
    yield f"{operation.get('description') or operation['summary']}\n"
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        yield _item(
            parameter["name"],
            schema,
            parameter.get("description", ""),
            parameter["required"],
            f"in the {parameter['in']}",
        )
    if "requestBody" in operation:
        for content in operation["requestBody"]["content"].values():
            yield f"- Body: {type_of(content['schema'])}"
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            if status.startswith("2") and content.get("schema") != {}:
                name = type_of(content.get("schema") or {})
                yield f"- Response {status}: {name if kind == 'application/json' else f'`{kind}`'}"
    yield ""


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield _item(name, field, field.get("description", ""), name in required)
        if "properties" in field:
            for inner, value in field["properties"].items():
                yield f"    {_item(inner, value, value.get('description', ''), inner in field.get('required', ()))}"


def _item(name: str, schema: dict[str, Any], about: str, required: bool, origin: str = "") -> str:
    default = f"default {json.dumps(schema['default'])}" if schema.get("default") is not None else ""
    facts = ", ".join(filter(None, (type_of(schema), origin, "" if required else default or "optional")))
    return f"- `{name}` ({facts})" + (f": {about}" if about else "")


def type_of(schema: dict[str, Any]) -> str:
    """Return the name of a JSON type, with a link to an object of the page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        values = [f"`{value}`" for value in schema["enum"] if value not in ("", None)]
        return " or ".join(values) if len(values) <= LONGEST_ENUM else f"one of {len(values)} names"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(choice) for choice in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map of {type_of(schema['additionalProperties'])}"
    return str(schema.get("type", "any value"))
