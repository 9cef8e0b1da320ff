"""`make release`: builds the files of a release into dist/, and tries each in an environment without kohort."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.release.building import ROOT, VERSION, ReleaseError, build, check, digest
from tests.release.trying import try_out, try_with_greenlets, try_with_pytest_projects

DIST = ROOT / "dist"


def main() -> int:
    """Build and try the files. Return 1, after printing one sentence, if a file must not be uploaded."""
    began = time.monotonic()

    def says(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="kohort-release-") as name:
        folder = Path(name)
        try:
            says("building: an archive and a plain wheel, twice; then a compiled wheel, which takes minutes")
            built = build(folder)
            says("checking: metadata, licences, contents, versions")
            check(built)
            table = Table("file", "KB", "SHA-256", "installed, s", "first test, s", "demo, s", "kohort --version")
            for number, path in enumerate(built):
                says(f"trying {path.name} in an empty environment: README's first test, kohort demo")
                tried = try_out(path, folder / f"tried-{number}")
                figures = (f"{install:.0f}" for install in (tried.install, tried.test, tried.demo))
                table.add_row(
                    path.name, f"{path.stat().st_size / 1000:,.0f}", digest(path)[:12], *figures, tried.version
                )
                if path.suffix == ".whl":
                    says(f"trying {path.name} with the oldest and the newest pytest, with warnings as errors")
                    try_with_pytest_projects(path, folder / f"tried-{number}")
            says("trying the plain wheel with gevent and eventlet")
            try_with_greenlets(next(file for file in built if file.name.endswith("-none-any.whl")), folder)
        except ReleaseError as problem:
            says(f"no release: {problem}")
            return 1
        DIST.mkdir(exist_ok=True)
        for path in built:
            shutil.copy(path, DIST)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    says(f"kohort {VERSION} is in dist/; see CONTRIBUTING.md for the upload")
    return 0


if __name__ == "__main__":
    sys.exit(main())
