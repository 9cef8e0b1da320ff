"""Clients that the builds in `clients/` generate from `/openapi.json`: they contain every operation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clients.generator.document import Document, Type, camel, read_document
from clients.generator.made_files import made_files
from kohort.control.http.app import make_app
from tests.clients.serving import serving
from tests.control.talking import Lab

KEPT_BY_JAVA = """
    abstract assert boolean break byte case catch char class const continue default do double else enum extends final
    finally float for goto if implements import instanceof int interface long native new package private protected
    public return short static strictfp super switch synchronized this throw throws transient try void volatile while
    true false null _
"""
OF_EVERY_OBJECT = {
    "wait()",
    "wait(long)",
    "notify()",
    "notifyAll()",
    "getClass()",
    "hashCode()",
    "clone()",
    "finalize()",
}  # methods that Java does not allow to be redefined, or with another return type
GENERATOR = Path(__file__).parent.parent.parent / "clients" / "generator"


@cache
def served() -> dict[str, Any]:
    lab = Lab()
    return make_app(lab.stage.server, laboratory=lab.laboratory).openapi()


@cache
def document() -> Document:
    return read_document(served())


@cache
def made() -> dict[str, str]:
    """Return the text of each file by its name."""
    files = made_files(document())
    return {Path(path).name: text for file in files.values() for path, text in file.items()}


def test_every_operation_and_schema_is_read() -> None:
    ids = [operation["operationId"] for methods in served()["paths"].values() for operation in methods.values()]
    assert [f"{operation.subject}_{operation.name}" for operation in document().operations] == ids
    assert set(served()["components"]["schemas"]) <= set(document().shapes)


def test_nullable_and_optional_fields_differ() -> None:
    shapes = document().shapes
    member = next(item for item in shapes["Freeze"].properties if item.name == "member")
    assert (member.required, member.type) == (False, Type("string", nullable=True))
    coordinator = next(item for item in shapes["GroupState"].properties if item.name == "coordinator")
    assert (coordinator.required, coordinator.type) == (True, Type("integer", nullable=True))


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("control.js", r"  (?P<subject>\w+): {|    (?P<call>\w+): \(.*\) => address\."),
        ("control.d.ts", r"  (?P<subject>\w+): {|    (?P<call>\w+)\(.*\): (?:Promise|AsyncGenerator)<"),
        (
            "Control.java",
            r"    public static final class (?P<subject>\w+)Requests {|        public .* (?P<call>\w+)\(.*\) {",
        ),
    ],
)
def test_client_methods_match_served_paths(file: str, line: str) -> None:
    told: dict[str, set[str]] = defaultdict(set)
    subject = ""
    calls, _, _ = made()[file].partition("public record")  # what Java's calls may be given
    for found in re.finditer(f"^(?:{line})", calls, re.MULTILINE):
        subject = camel(found["subject"]) if found["subject"] else subject
        if found["call"] and subject:
            told[subject].add(found["call"])
    asked = {
        camel(name): {camel(operation.name) for operation in operations} for name, operations in document().by_subject()
    }
    assert told == asked


@pytest.mark.parametrize("file", ["control.d.ts", "Control.java"])
def test_client_has_every_type(file: str) -> None:
    declared = set(re.findall(r"^ *(?:public|export) (?:record|enum|interface|type) (\w+)", made()[file], re.MULTILINE))
    assert declared >= {*document().shapes, *document().enums}


def test_java_takes_every_name() -> None:
    methods = re.findall(r"^ +public (?:static )?[\w<>, ]+ (\w+)\((.*)\) {$", made()["Control.java"], re.MULTILINE)
    components = re.findall(r'^ +@JsonProperty\("\w+"\) [\w<>, ]+ (\w+),?$', made()["Control.java"], re.MULTILINE)
    takes = [re.sub(r"(\w+(?:<.*>)?) \w+", r"\1", given) for _, given in methods]
    assert {f"{name}({kinds})" for (name, _), kinds in zip(methods, takes, strict=True)} & OF_EVERY_OBJECT == set()
    parameters = {part.split()[-1] for _, given in methods for part in given.split(", ") if " " in part}
    assert len(methods) > 100 < len(components)
    assert {*KEPT_BY_JAVA.split()} & {*(name for name, _ in methods), *parameters, *components} == set()


def generated(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Return the output of the command that the builds run, in a copy of `clients`, with a Python without packages."""
    shutil.copytree(GENERATOR, folder / "generator")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KOHORT_")}
    return subprocess.run(
        [sys.executable, "-S", "-m", "generator", *words],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.long
def test_build_uses_command(tmp_path: Path) -> None:
    told = generated(tmp_path, "node", KOHORT_COMMAND=str(Path(sys.executable).parent / "kohort"))
    assert (told.returncode, told.stderr) == (0, "")
    assert {path.name: path.read_text() for path in (tmp_path / "node").iterdir()} == {
        name: made()[name] for name in ("control.js", "control.d.ts")
    }
    assert not (tmp_path / "java").exists()


@pytest.mark.long
def test_build_uses_running_broker(tmp_path: Path) -> None:
    with serving(options=("--control", ":0", "--control-token", "s3cret")) as ready:
        control = ready.partition(" control=")[2]
        told = generated(tmp_path, KOHORT_CONTROL=control, KOHORT_CONTROL_TOKEN="s3cret")
    assert (told.returncode, told.stderr) == (0, "")
    assert {path.name: path.read_text() for path in tmp_path.glob("[jn]*/**/*ontrol.*")} == made()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "KOHORT_COMMAND",
            "no-such-kohort",
            "command no-such-kohort not found; install kohort with its extra control, or ",
        ),
        ("KOHORT_COMMAND", "true", "true does not serve a control address\n"),
        ("KOHORT_CONTROL", "127.0.0.1:1", "http://127.0.0.1:1 does not serve an /openapi.json: "),
    ],
)
def test_build_without_broker_prints_advice(tmp_path: Path, variable: str, value: str, message: str) -> None:
    ended = generated(tmp_path, **{variable: value})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(message)
