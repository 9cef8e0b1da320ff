"""Builds the files of a release: source archive, plain wheel, and compiled wheel for this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


class ReleaseError(Exception):
    """Error in a release. Its text is one sentence for the person who builds it."""


def build(folder: Path) -> list[Path]:
    """Build the archive and the plain wheel twice, compare them, then build the compiled wheel from the archive."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": _moment()}
    first, second = (_built(folder / name, environment) for name in ("first", "second"))
    for one, other in zip(first, second, strict=True):
        if digest(one) != digest(other):
            raise ReleaseError(f"{one.name} was built twice, and differs; it holds a time, a path or an order of files")
    out = folder / "compiled"
    _run(
        ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(first[0])],
        environment | {"KOHORT_COMPILE": "1"},
    )
    return [*first, *out.glob("*.whl")]


def _moment() -> str:
    """Return the time of the last commit, so that a release does not depend on the day of its build."""
    result = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "315532800"


def _built(out: Path, environment: dict[str, str]) -> list[Path]:
    _run(["-m", "build", "--outdir", str(out), str(ROOT)], environment)
    (archive,) = out.glob("*.tar.gz")
    _settle(archive, int(environment["SOURCE_DATE_EPOCH"]))
    return [archive, *out.glob("*.whl")]


def _settle(archive: Path, moment: int) -> None:
    """Writes an archive anew, with one time, no owners and its files in order: setuptools leaves in what it finds."""
    raw = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda getmember: getmember.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = moment, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isreg() else None)
    with archive.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as packed:
        packed.write(raw.getvalue())


def _run(arguments: list[str], environment: dict[str, str]) -> None:
    result = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ReleaseError(f"{' '.join(arguments[:3])} ended with {result.returncode}:\n{result.stdout}{result.stderr}")


def digest(path: Path) -> str:
    """Return the SHA-256 digest in the form of a package index."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(files: list[Path]) -> None:
    """Check the files.

    Raises:
        ReleaseError: An index would reject a file, or a file lacks something that users need.
    """
    _run(["-m", "twine", "check", "--strict", *map(str, files)], dict(os.environ))
    if len(files) != 3 or not any(_is_compiled(path) for path in files):
        names = ", ".join(path.name for path in files)
        raise ReleaseError(f"there are {names}; a release has an archive, a plain wheel and a compiled one")
    for path in files:
        _check_contents(path, contents(path))
    versions = {"pyproject.toml": VERSION, **_versions_of_clients()}
    if len(set(versions.values())) > 1:
        raise ReleaseError("versions differ: " + ", ".join(f"{name} {each}" for name, each in versions.items()))
    if f"\n## {VERSION}" not in (ROOT / "CHANGELOG.md").read_text():
        raise ReleaseError(f"CHANGELOG.md has no section {VERSION}")


def _is_compiled(path: Path) -> bool:
    return path.suffix == ".whl" and not path.name.endswith("-none-any.whl")


def contents(path: Path) -> dict[str, bytes]:
    """Return the files of an archive or a wheel by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    files = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            file = archive.extractfile(member)
            if file is not None:
                files[member.name.partition("/")[2]] = file.read()
    return files


def _check_contents(path: Path, files: dict[str, bytes]) -> None:
    if not any(name.endswith("LICENSE") for name in files):
        raise ReleaseError(f"{path.name} has no LICENSE")
    strangers = [name for name in files if name.startswith(("tests/", "kohort/tests/")) or ".git" in name]
    if strangers:
        raise ReleaseError(f"{path.name} holds {strangers[0]}, which is not for users")
    home = os.environ.get("HOME", "/root").encode()
    for name, data in files.items():
        if str(ROOT).encode() in data or (len(home) > 5 and home in data):
            raise ReleaseError(f"{path.name} names a path of this machine in {name}")
    if path.suffix == ".whl":
        for needed in ("kohort/__init__.py", "kohort/py.typed", "kohort/control/http/page/index.html"):
            if needed not in files:
                raise ReleaseError(f"{path.name} lacks {needed}")


def _versions_of_clients() -> dict[str, str]:
    pom = re.search(
        r"<artifactId>kohort-junit</artifactId>\s*<version>([^<]+)<", (ROOT / "clients/java/pom.xml").read_text()
    )
    node = json.loads((ROOT / "clients/node/package.json").read_text())["version"]
    return {"clients/java/pom.xml": pom[1] if pom else "none", "clients/node/package.json": node}
