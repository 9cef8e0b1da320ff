"""Makes the Node client's `control.js`, and its types."""

from __future__ import annotations

import re

from .document import Document, Operation, Property, Shape, Type, camel

SIMPLE = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "any": "unknown"}
JS = """
const part = encodeURIComponent

// What there is to say to a control address. `address` has three ways to ask: `ask`, `text` and `events`.
export const control = (address) => ({
"""


def control_js(document: Document) -> str:
    """The calls."""
    lines = []
    for subject, operations in document.by_subject():
        lines.append(f"  {subject}: {{")
        lines += [f"    {camel(each.name)}: {_call(each)}," for each in operations]
        lines.append("  },")
    return JS + "\n".join(lines) + "\n})\n"


def _call(operation: Operation) -> str:
    takes = [camel(each.name) for each in operation.path_parameters]
    takes += ["body"] if operation.body is not None else []
    takes += ["query"] if operation.query else []
    path = re.sub(r"{(\w+)}", lambda found: f"${{part({camel(found[1])})}}", operation.path)
    given = [f"'{operation.method}'", f"`{path}`" if "$" in path else f"'{path}'"]
    given += ["query" if operation.query else "undefined"] if operation.query or operation.body is not None else []
    given += ["body"] if operation.body is not None else []
    ask = {"json": "ask", "text": "text", "events": "events"}[operation.media]
    return f"({', '.join(takes)}) => address.{ask}({', '.join(given)})"


def control_types(document: Document) -> str:
    """What they take and answer."""
    parts = [""]
    parts += [f"export type {name} = {' | '.join(map(_quoted, words))}\n" for name, words in document.enums.items()]
    parts += [_interface(each) for each in document.shapes.values()]
    lines = ["export interface Control {"]
    for subject, operations in document.by_subject():
        lines.append(f"  {subject}: {{")
        for each in operations:
            lines += [f"    /** {each.about} */", f"    {camel(each.name)}({_parameters(each)}): {_answer(each)}"]
        lines.append("  }")
    return "\n".join([*parts, *lines, "}", ""])


def _parameters(operation: Operation) -> str:
    takes = [f"{camel(each.name)}: {_type(each.type)}" for each in operation.path_parameters]
    if operation.body is not None:
        takes.append(f"body{'?' if operation.body.nullable else ''}: {_type(operation.body)}")
    if operation.query:
        takes.append("query?: { " + "; ".join(map(_property, operation.query)) + " }")
    return ", ".join(takes)


def _answer(operation: Operation) -> str:
    known = "void" if operation.answer is None else _type(operation.answer)
    return f"AsyncGenerator<{known}>" if operation.media == "events" else f"Promise<{known}>"


def _interface(shape: Shape) -> str:
    lines = [f"/** {shape.about} */", f"export interface {shape.name} {{"]
    for each in shape.properties:
        lines += [f"  /** {each.about} */"] if each.about else []
        lines.append(f"  {_property(each)}")
    return "\n".join([*lines, "}", ""])


def _property(each: Property) -> str:
    return f"{each.name}{'' if each.required else '?'}: {_type(each.type)}"


def _type(known: Type) -> str:
    if known.either:
        text = " | ".join(map(_type, known.either))
    elif known.kind == "list":
        assert known.inner is not None
        inner = _type(known.inner)
        text = f"({inner})[]" if "|" in inner else f"{inner}[]"
    elif known.kind == "map":
        assert known.inner is not None
        text = f"Record<string, {_type(known.inner)}>"
    else:
        text = known.name or SIMPLE[known.kind]
    return f"{text} | null" if known.nullable else text


def _quoted(word: str) -> str:
    return f"'{word}'"
