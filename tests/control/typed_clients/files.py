"""Which files are made of the document."""

from __future__ import annotations

from pathlib import Path

from tests.control.typed_clients.document import read_document, served_document
from tests.control.typed_clients.java import control_java
from tests.control.typed_clients.node import control_js, control_types

CLIENTS = Path(__file__).parent.parent.parent.parent / "clients"


def made_files() -> dict[Path, str]:
    """Each of them, as it should be."""
    document = read_document(served_document())
    return {
        CLIENTS / "java" / "src" / "main" / "java" / "kohort" / "Control.java": control_java(document),
        CLIENTS / "node" / "control.js": control_js(document),
        CLIENTS / "node" / "control.d.ts": control_types(document),
    }
