"""Files that are generated from the document."""

from __future__ import annotations

from .document import Document
from .java import control_java
from .node import control_js, control_types

MADE_BY = "// Made by `python3 -m generator` from /openapi.json.\n"


def made_files(document: Document) -> dict[str, dict[str, str]]:
    """Return the text of each file by language and by its path in `clients`."""
    java = "java/target/generated-sources/kohort/kohort/Control.java"
    return {
        "java": {java: MADE_BY + control_java(document)},
        "node": {
            "node/control.js": MADE_BY + control_js(document),
            "node/control.d.ts": MADE_BY + control_types(document),
        },
    }
