"""Writes the clients' files that are made from `/openapi.json`: `python3 -m generator [java] [node]`.

What is there to say is asked of a broker: the one at KOHORT_CONTROL, or the command `kohort`, which KOHORT_COMMAND
names where it is not on the PATH.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .document import read_document
from .made_files import made_files
from .served_document import Unserved, served_document

CLIENTS = Path(__file__).parent.parent


def main() -> None:
    """Writes the files of the languages that are named; of none: of all."""
    try:
        made = made_files(read_document(served_document()))
    except Unserved as problem:
        sys.exit(str(problem))
    languages = sys.argv[1:] or list(made)
    for language in languages:
        for name, text in made[language].items():
            path = CLIENTS / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
