"""Generator of the Java client's `Control.java`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent

from .document import Document, Operation, Property, Shape, Type, camel, pascal

RESERVED = {"do", "with", "default", "import"}
FINAL = {("wait", ("long",))}  # final methods of every Java object, which no class may redefine: names and parameters
SIMPLE = {"integer": "Long", "number": "Double", "string": "String", "boolean": "Boolean", "any": "Object"}
PRIMITIVE = {"Long": "long", "Double": "double", "Boolean": "boolean"}

HEAD = """\
package kohort;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.type.TypeReference;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The control address of a broker: its operations and responses. An error response is a {@link Refused}. */
public final class Control {
"""


def control_java(document: Document) -> str:
    subjects = list(document.by_subject())
    parts = [_fields([name for name, _ in subjects])]
    parts += [_subject(name, operations) for name, operations in subjects]
    queries = [_query(shape) for shape in document.operations if len(shape.query) > 1]
    parts += [_record(shape, query=True) for shape in queries]
    parts += [_record(shape) for shape in document.shapes.values()]
    parts += [_enum(name, words) for name, words in document.enums.items()]
    return HEAD + "\n".join(indent(shape, "    ") for shape in parts) + "}\n"


def _fields(subjects: list[str]) -> str:
    lines = [f"public final {pascal(subject)}Requests {subject};" for subject in subjects]
    lines += ["", "Control(ControlAddress address) {"]
    lines += [f"    {subject} = new {pascal(subject)}Requests(address);" for subject in subjects]
    return "\n".join([*lines, "}", ""])


def _subject(name: str, operations: list[Operation]) -> str:
    methods = "\n".join(method for operation in operations for method in _methods(operation))
    kind = f"{pascal(name)}Requests"
    head = f"/** The requests about {name}. */\npublic static final class {kind} {{\n"
    head += f"    private final ControlAddress address;\n\n    private {kind}(ControlAddress address) {{\n"
    return head + "        this.address = address;\n    }\n\n" + indent(methods, "    ") + "}\n"


def _methods(operation: Operation) -> Iterator[str]:
    """Yield the method, after an overload without the optional parameters if there are any."""
    query = operation.query
    optional_body = operation.body is not None and operation.body.nullable
    takes = tuple(_primitive(field.type) for field in operation.path_parameters)
    if (query or optional_body) and (camel(operation.name), takes) not in FINAL:
        yield _method(operation, short=True)
    yield _method(operation, short=False)


def _method(operation: Operation, *, short: bool) -> str:
    answer, name = _answer(operation), camel(operation.name)
    takes = [(_primitive(field.type), _name(field.name)) for field in operation.path_parameters]
    if operation.body is not None and not (short and operation.body.nullable):
        takes.append((_java(operation.body), "body"))
    if len(operation.query) == 1 and not short:
        takes.append((_primitive(operation.query[0].type), _name(operation.query[0].name)))
    elif operation.query and not short:
        takes.append((operation.query_name, "query"))
    signature = ", ".join(f"{kind} {field}" for kind, field in takes)
    path = re.sub(r"{(\w+)}", lambda match: f'" + ControlAddress.part({_name(match[1])}) + "', operation.path)
    arguments = [f'"{operation.method}"', f'"{path}"'.removesuffix(' + ""'), _given_query(operation, short=short)]
    arguments.append("body" if "body" in [field for _, field in takes] else "null")
    asks = {"json": "ask", "text": "text", "events": "events"}[operation.media]
    if operation.media != "text":
        arguments.append("null" if operation.answer is None else f"new TypeReference<{_java(operation.answer)}>() {{}}")
    call = f"address.{asks}({', '.join(arguments)});"
    lines = [f"/** {operation.about} */", f"public {answer} {name}({signature}) {{"]
    lines += [f"    {call}" if answer == "void" else f"    return {call}", "}", ""]
    return "\n".join(lines)


def _given_query(operation: Operation, *, short: bool) -> str:
    if short or not operation.query:
        return "Map.of()"
    if len(operation.query) == 1:
        name = operation.query[0].name
        return f'ControlAddress.query("{name}", {_name(name)})'
    return "query.parameters()"


def _answer(operation: Operation) -> str:
    if operation.answer is None:
        return "void"
    return f"Stream<{_java(operation.answer)}>" if operation.media == "events" else _java(operation.answer)


def _query(operation: Operation) -> Shape:
    """Return the query parameters as an object type."""
    about = f"What {operation.subject}.{camel(operation.name)} may be given."
    return Shape(operation.query_name, about, operation.query, in_requests=True)


def _record(shape: Shape, *, query: bool = False) -> str:
    components = ",\n".join(f"        {_component(field, shape)}" for field in shape.properties)
    about = "".join(f"\n * @param {_name(field.name)} {field.about}" for field in shape.properties if field.about)
    head = f"/**\n * {shape.about}{about}\n */\npublic record {shape.name}(\n{components}) {{\n"
    body = []
    if shape.in_requests:
        if len(shape.required) < len(shape.properties):
            body.append(_short_constructor(shape))
        body += [_wither(shape, field) for field in shape.optional]
    if query:
        body.append(_parameters(shape))
    return head + indent("\n".join(body), "    ") + "}\n"


def _component(field: Property, shape: Shape) -> str:
    always = field.required and not field.type.nullable
    kind = _primitive(field.type) if always else _java(field.type)
    return f'@JsonProperty("{field.name}") {kind} {_name(field.name)}'


def _short_constructor(shape: Shape) -> str:
    """Return the constructor with the required fields."""
    takes = ", ".join(f"{_component(field, shape).partition(' ')[2]}" for field in shape.required)
    values = ", ".join(_name(field.name) if field.required else "null" for field in shape.properties)
    return f"public {shape.name}({takes}) {{\n    this({values});\n}}\n"


def _wither(shape: Shape, chosen: Property) -> str:
    values = ", ".join(_name(field.name) for field in shape.properties)
    kind, name = _primitive(chosen.type), _name(chosen.name)
    return f"public {shape.name} {name}({kind} {name}) {{\n    return new {shape.name}({values});\n}}\n"


def _parameters(shape: Shape) -> str:
    lines = ["Map<String, Object> parameters() {", "    Map<String, Object> given = new LinkedHashMap<>();"]
    lines += [f'    given.put("{field.name}", {_name(field.name)});' for field in shape.properties]
    return "\n".join([*lines, "    return given;", "}", ""])


def _enum(name: str, words: tuple[str, ...]) -> str:
    constants = ",\n".join(f'    @JsonProperty("{word}") {_constant(word)}("{word}")' for word in words)
    return (
        f"/** One of Kafka's or kohort's words. */\npublic enum {name} {{\n{constants};\n\n"
        f"    private final String word;\n\n    {name}(String word) {{\n        this.word = word;\n    }}\n\n"
        "    @Override\n    public String toString() {\n        return word;\n    }\n}\n"
    )


def _constant(word: str) -> str:
    """Convert `join-complete` to JOIN_COMPLETE, `PreparingRebalance` to PREPARING_REBALANCE."""
    if word in ("", "*"):
        return {"": "NONE", "*": "ANY"}[word]
    if word.isupper():
        return word
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.replace("-", "_")).upper()


def _java(value_type: Type) -> str:
    """Return the boxed type, which may be null."""
    if value_type.kind == "list":
        assert value_type.inner is not None
        return f"List<{_java(value_type.inner)}>"
    if value_type.kind == "map":
        assert value_type.inner is not None
        return f"Map<String, {_java(value_type.inner)}>"
    return value_type.name or SIMPLE[value_type.kind]


def _primitive(value_type: Type) -> str:
    kind = _java(value_type)
    return PRIMITIVE.get(kind, kind)


def _name(name: str) -> str:
    """Append an underscore to Java's reserved words."""
    return f"{name}_" if name in RESERVED else camel(name)
