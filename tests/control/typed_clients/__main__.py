"""Writes the files that are made from `/openapi.json`."""

from __future__ import annotations

from tests.control.typed_clients.files import made_files


def main() -> None:
    """Writes those that differ."""
    for path, text in made_files().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
