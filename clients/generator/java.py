"""Makes the Java client's `Control.java`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent

from .document import Document, Operation, Property, Shape, Type, camel, pascal

RESERVED = {"do", "with", "default", "import"}
FINAL = {("wait", ("long",))}
"""Methods that every object has in Java, and no class may have anew: names, and what they take."""
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

/** The control address of a broker: what one may do to it, and what it tells. A refusal is a {@link Refused}. */
public final class Control {
"""


def control_java(document: Document) -> str:
    """The file."""
    subjects = list(document.by_subject())
    parts = [_fields([name for name, _ in subjects])]
    parts += [_subject(name, operations) for name, operations in subjects]
    queries = [_query(each) for each in document.operations if len(each.query) > 1]
    parts += [_record(each, query=True) for each in queries]
    parts += [_record(each) for each in document.shapes.values()]
    parts += [_enum(name, words) for name, words in document.enums.items()]
    return HEAD + "\n".join(indent(each, "    ") for each in parts) + "}\n"


def _fields(subjects: list[str]) -> str:
    lines = [f"public final {pascal(each)}Requests {each};" for each in subjects]
    lines += ["", "Control(ControlAddress address) {"]
    lines += [f"    {each} = new {pascal(each)}Requests(address);" for each in subjects]
    return "\n".join([*lines, "}", ""])


def _subject(name: str, operations: list[Operation]) -> str:
    methods = "\n".join(method for each in operations for method in _methods(each))
    kind = f"{pascal(name)}Requests"
    head = f"/** The requests about {name}. */\npublic static final class {kind} {{\n"
    head += f"    private final ControlAddress address;\n\n    private {kind}(ControlAddress address) {{\n"
    return head + "        this.address = address;\n    }\n\n" + indent(methods, "    ") + "}\n"


def _methods(operation: Operation) -> Iterator[str]:
    """The method; before it one without what may be left out."""
    query = operation.query
    optional_body = operation.body is not None and operation.body.nullable
    takes = tuple(_primitive(each.type) for each in operation.path_parameters)
    if (query or optional_body) and (camel(operation.name), takes) not in FINAL:
        yield _method(operation, short=True)
    yield _method(operation, short=False)


def _method(operation: Operation, *, short: bool) -> str:
    answer, name = _answer(operation), camel(operation.name)
    takes = [(_primitive(each.type), _name(each.name)) for each in operation.path_parameters]
    if operation.body is not None and not (short and operation.body.nullable):
        takes.append((_java(operation.body), "body"))
    if len(operation.query) == 1 and not short:
        takes.append((_primitive(operation.query[0].type), _name(operation.query[0].name)))
    elif operation.query and not short:
        takes.append((operation.query_name, "query"))
    signature = ", ".join(f"{kind} {each}" for kind, each in takes)
    path = re.sub(r"{(\w+)}", lambda found: f'" + ControlAddress.part({_name(found[1])}) + "', operation.path)
    given = [f'"{operation.method}"', f'"{path}"'.removesuffix(' + ""'), _given_query(operation, short=short)]
    given.append("body" if "body" in [each for _, each in takes] else "null")
    asks = {"json": "ask", "text": "text", "events": "events"}[operation.media]
    if operation.media != "text":
        given.append("null" if operation.answer is None else f"new TypeReference<{_java(operation.answer)}>() {{}}")
    call = f"address.{asks}({', '.join(given)});"
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
    """Its query parameters, as something to hand over together."""
    about = f"What {operation.subject}.{camel(operation.name)} may be given."
    return Shape(operation.query_name, about, operation.query, given=True)


def _record(shape: Shape, *, query: bool = False) -> str:
    components = ",\n".join(f"        {_component(each, shape)}" for each in shape.properties)
    about = "".join(f"\n * @param {_name(each.name)} {each.about}" for each in shape.properties if each.about)
    head = f"/**\n * {shape.about}{about}\n */\npublic record {shape.name}(\n{components}) {{\n"
    body = []
    if shape.given:
        if len(shape.required) < len(shape.properties):
            body.append(_short_constructor(shape))
        body += [_wither(shape, each) for each in shape.optional]
    if query:
        body.append(_parameters(shape))
    return head + indent("\n".join(body), "    ") + "}\n"


def _component(each: Property, shape: Shape) -> str:
    always = each.required and not each.type.nullable
    kind = _primitive(each.type) if always else _java(each.type)
    return f'@JsonProperty("{each.name}") {kind} {_name(each.name)}'


def _short_constructor(shape: Shape) -> str:
    """Only what is required."""
    takes = ", ".join(f"{_component(each, shape).partition(' ')[2]}" for each in shape.required)
    values = ", ".join(_name(each.name) if each.required else "null" for each in shape.properties)
    return f"public {shape.name}({takes}) {{\n    this({values});\n}}\n"


def _wither(shape: Shape, chosen: Property) -> str:
    values = ", ".join(_name(each.name) for each in shape.properties)
    kind, name = _primitive(chosen.type), _name(chosen.name)
    return f"public {shape.name} {name}({kind} {name}) {{\n    return new {shape.name}({values});\n}}\n"


def _parameters(shape: Shape) -> str:
    lines = ["Map<String, Object> parameters() {", "    Map<String, Object> given = new LinkedHashMap<>();"]
    lines += [f'    given.put("{each.name}", {_name(each.name)});' for each in shape.properties]
    return "\n".join([*lines, "    return given;", "}", ""])


def _enum(name: str, words: tuple[str, ...]) -> str:
    constants = ",\n".join(f'    @JsonProperty("{each}") {_constant(each)}("{each}")' for each in words)
    return (
        f"/** One of Kafka's or kohort's words. */\npublic enum {name} {{\n{constants};\n\n"
        f"    private final String word;\n\n    {name}(String word) {{\n        this.word = word;\n    }}\n\n"
        "    @Override\n    public String toString() {\n        return word;\n    }\n}\n"
    )


def _constant(word: str) -> str:
    """`join-complete` as JOIN_COMPLETE, `PreparingRebalance` as PREPARING_REBALANCE."""
    if word in ("", "*"):
        return {"": "NONE", "*": "ANY"}[word]
    if word.isupper():
        return word
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.replace("-", "_")).upper()


def _java(known: Type) -> str:
    """As an object, which may be null."""
    if known.kind == "list":
        assert known.inner is not None
        return f"List<{_java(known.inner)}>"
    if known.kind == "map":
        assert known.inner is not None
        return f"Map<String, {_java(known.inner)}>"
    return known.name or SIMPLE[known.kind]


def _primitive(known: Type) -> str:
    kind = _java(known)
    return PRIMITIVE.get(kind, kind)


def _name(name: str) -> str:
    """As Java names it; a word that Java keeps for itself gets an underscore."""
    return f"{name}_" if name in RESERVED else camel(name)
