"""Writes the clients' files that are generated from `/openapi.json`: `python3 -m generator [java] [node]`.

The document comes from a broker: the one at KOHORT_CONTROL, or one started with the command `kohort`, or KOHORT_COMMAND
if that is not on the PATH.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .document import read_document
from .made_files import made_files
from .served_document import Unserved, served_document

CLIENTS = Path(__file__).parent.parent


def main() -> None:
    """Write the files of the named languages, by default of all."""
    try:
        texts = made_files(read_document(served_document()))
    except Unserved as problem:
        sys.exit(str(problem))
    languages = sys.argv[1:] or list(texts)
    for language in languages:
        for name, text in texts[language].items():
            path = CLIENTS / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
