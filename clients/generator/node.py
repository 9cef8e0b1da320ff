"""Generator of the Node client's `control.js` and its types."""

from __future__ import annotations

import re

from .document import Document, Operation, Property, Shape, Type, camel

SIMPLE = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "any": "unknown"}
JS = """
const part = encodeURIComponent

// Operations of a control address. `address` sends requests: `ask`, `text` and `events`.
export const control = (address) => ({
"""


def control_js(document: Document) -> str:
    lines = []
    for subject, operations in document.by_subject():
        lines.append(f"  {subject}: {{")
        lines += [f"    {camel(operation.name)}: {_call(operation)}," for operation in operations]
        lines.append("  },")
    return JS + "\n".join(lines) + "\n})\n"


def _call(operation: Operation) -> str:
    takes = [camel(field.name) for field in operation.path_parameters]
    takes += ["body"] if operation.body is not None else []
    takes += ["query"] if operation.query else []
    path = re.sub(r"{(\w+)}", lambda match: f"${{part({camel(match[1])})}}", operation.path)
    arguments = [f"'{operation.method}'", f"`{path}`" if "$" in path else f"'{path}'"]
    arguments += ["query" if operation.query else "undefined"] if operation.query or operation.body is not None else []
    arguments += ["body"] if operation.body is not None else []
    ask = {"json": "ask", "text": "text", "events": "events"}[operation.media]
    return f"({', '.join(takes)}) => address.{ask}({', '.join(arguments)})"


def control_types(document: Document) -> str:
    parts = [""]
    parts += [f"export type {name} = {' | '.join(map(_quoted, words))}\n" for name, words in document.enums.items()]
    parts += [_interface(shape) for shape in document.shapes.values()]
    lines = ["export interface Control {"]
    for subject, operations in document.by_subject():
        lines.append(f"  {subject}: {{")
        for shape in operations:
            lines += [f"    /** {shape.about} */", f"    {camel(shape.name)}({_parameters(shape)}): {_answer(shape)}"]
        lines.append("  }")
    return "\n".join([*parts, *lines, "}", ""])


def _parameters(operation: Operation) -> str:
    takes = [f"{camel(field.name)}: {_type(field.type)}" for field in operation.path_parameters]
    if operation.body is not None:
        takes.append(f"body{'?' if operation.body.nullable else ''}: {_type(operation.body)}")
    if operation.query:
        takes.append("query?: { " + "; ".join(map(_property, operation.query)) + " }")
    return ", ".join(takes)


def _answer(operation: Operation) -> str:
    value_type = "void" if operation.answer is None else _type(operation.answer)
    return f"AsyncGenerator<{value_type}>" if operation.media == "events" else f"Promise<{value_type}>"


def _interface(shape: Shape) -> str:
    lines = [f"/** {shape.about} */", f"export interface {shape.name} {{"]
    for field in shape.properties:
        lines += [f"  /** {field.about} */"] if field.about else []
        lines.append(f"  {_property(field)}")
    return "\n".join([*lines, "}", ""])


def _property(field: Property) -> str:
    return f"{field.name}{'' if field.required else '?'}: {_type(field.type)}"


def _type(value_type: Type) -> str:
    if value_type.either:
        text = " | ".join(map(_type, value_type.either))
    elif value_type.kind == "list":
        assert value_type.inner is not None
        inner = _type(value_type.inner)
        text = f"({inner})[]" if "|" in inner else f"{inner}[]"
    elif value_type.kind == "map":
        assert value_type.inner is not None
        text = f"Record<string, {_type(value_type.inner)}>"
    else:
        text = value_type.name or SIMPLE[value_type.kind]
    return f"{text} | null" if value_type.nullable else text


def _quoted(word: str) -> str:
    return f"'{word}'"
