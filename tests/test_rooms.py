"""The lists of rooms in pyproject.toml agree with the folders; what is long does not grow."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests import longest
from tests.support.parsed_files import parsed

ROOT = Path(__file__).parent.parent
NOT_INSTALLED = {"tests", "benchmarks"}
"""Packages of Python that stay in the repository."""
OTHER_LANGUAGES = "clients"
"""A folder that is no room: clients of the control address in other languages."""
GENERATOR = "clients.generator"
"""A package of Python in it, which their builds run."""


def configured(*keys: str) -> Any:
    """A value in pyproject.toml."""
    value = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for key in keys:
        value = value[key]
    return value


@cache
def rooms() -> set[str]:
    """The top-level folders that are packages."""
    return {file.parent.name for file in ROOT.glob("*/__init__.py")} - NOT_INSTALLED


def module(path: Path) -> str:
    """The name under which `kohort` has a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_module_folders_are_packages() -> None:
    folders = {file.parent for room in rooms() for file in (ROOT / room).rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_other_language_clients_contain_no_python() -> None:
    folder = ROOT / OTHER_LANGUAGES
    assert {each.name for each in folder.iterdir() if each.is_dir()} >= {"java", "node"}
    files = [path for path in folder.rglob("*.py") if "node_modules" not in path.parts]
    assert {path.parent for path in files} == {ROOT.joinpath(*GENERATOR.split("."))}


def test_every_room_is_type_checked() -> None:
    expected = {f"kohort.{room}" for room in rooms()}
    assert set(configured("tool", "mypy", "packages")) == expected | NOT_INSTALLED | {GENERATOR}
    assert set(configured("tool", "importlinter", "root_packages")) == expected


def test_installed_package_is_typed() -> None:
    assert configured("tool", "setuptools", "package-data")["kohort"] == ["py.typed"]
    assert (ROOT / "package/kohort/py.typed").exists()


BY_NAME = {
    "broker.runtime.registry": ["f'kohort.broker.apis.{spec.name}'"],
    "base.late_modules": ["name"],  # Python's, not ours
    "broker.shortcuts": ["'kohort.broker.fast'"],
    "broker.fast.remembered_requests": ["f'kohort.broker.fast.{file}'"],
    "cli.lazy": ["f'{self._package}.{name}'"],  # the folder that a group of commands is in
    "coordinator.groups.group_types": ["f'kohort.coordinator.{module}'"],
    "demo.workers.consuming": ["f'kohort.demo.workers.{module}'"],
    "pipeline.rules.diagnose": ["f'{rules.__name__}.{name}'"],
    "protocol.lean_kio": ["parent", "self.__name__", "f'kio.schema.{api}.v{version}.{kind}'"],  # kio's, not ours
    "protocol.messages": ["f'{__name__}.{api}'"],
    "testing": ["f'kohort.{_HOMES[name]}'"],  # its own files, and those of control/
    "proxy.addressed_apis": ["f'kio.schema.{name}.v{version}.response'"],  # kio's, as above
}
"""The imports that import-linter does not see: who imports which modules by name. None of them points upwards."""


def test_imports_by_name_are_declared() -> None:
    files = [path for room in rooms() for path in (ROOT / room).rglob("*.py")]
    assert {module(path): parsed(path).by_name for path in files if parsed(path).by_name} == BY_NAME


def imports() -> dict[str, set[str]]:
    """Each module of ours, and those that it imports, for types only included."""
    modules = {module(path): path for room in rooms() for path in (ROOT / room).rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        found[name] = set()
        for _, imported, names in parsed(path).imports:
            if imported.startswith("kohort."):
                source = imported.removeprefix("kohort.")
                targets = [f"{source}.{each}" for each in names]
                found[name] |= {target if target in modules else source for target in targets}
    return found


def reachable(start: str, imported: dict[str, set[str]]) -> set[str]:
    """Every module that one imports, directly or through others."""
    seen: set[str] = set()
    left = [start]
    while left:
        for each in imported.get(left.pop(), ()):
            if each not in seen:
                seen.add(each)
                left.append(each)
    return seen


def test_import_cycles_stay_within_folder() -> None:
    imported = imports()
    assert imported["broker.runtime.dispatch"] >= {"broker.ticket", "broker.cluster.broker_cluster"}
    behind = {name: reachable(name, imported) for name in imported}
    folder = {name: name.rpartition(".")[0] for name in imported}
    circles = {
        (one, other)
        for one in imported
        for other in behind[one]
        if one in behind.get(other, ()) and folder[one] != folder[other]
    }
    assert circles == set()


MOST_IN_A_CIRCLE = 3
"""Modules that import each other, for types only included."""


def test_no_circle_of_imports_is_large() -> None:
    imported = imports()
    behind = {name: reachable(name, imported) for name in imported}
    circles = {frozenset(other for other in behind[name] if name in behind.get(other, ())) for name in imported}
    assert [sorted(circle) for circle in circles if len(circle) > MOST_IN_A_CIRCLE] == []


def test_long_code_does_not_grow() -> None:
    allowed, now = longest.allowed(), longest.measured(ROOT)
    grown = {name: lines for name, lines in now.items() if lines > allowed.get(name, 0)}
    assert grown == {}, "split it; if that is impossible, give the reason in the commit and run python -m tests.longest"
    assert now == allowed, "shorter than before; run python -m tests.longest to lower the limits"


GROUP_TYPE = re.compile(
    r"\b(consumer_groups|share_groups|streams_groups|ConsumerGroup|ShareGroup|StreamsGroup|ClassicGroup)\b"
)
MAY_NAME_A_GROUP_TYPE = ("coordinator/", "protocol/", "broker/apis/", "pipeline/", longest.GENERATED)
NAMES_A_GROUP_TYPE = {
    "control/groups/groups_by_id.py",
    "control/groups/lab_share_group.py",
    "control/groups/lab_streams_group.py",
    "control/groups/share_records.py",
    "demo/stage.py",
    "proxy/observed/observed_classic_group.py",
    "testing/__init__.py",
    "testing/cluster.py",
}
"""All other files that name a concrete group type. Remove a file when it no longer does; never add one."""


def test_few_files_name_group_types() -> None:
    files = {path.relative_to(ROOT).as_posix(): path for room in rooms() for path in (ROOT / room).rglob("*.py")}
    naming = {
        name
        for name, path in files.items()
        if not name.startswith(MAY_NAME_A_GROUP_TYPE) and GROUP_TYPE.search(path.read_text())
    }
    assert naming - NAMES_A_GROUP_TYPE == set(), "use the group's base class or coordinator/groups/group_types.py"
    assert NAMES_A_GROUP_TYPE - naming == set(), "remove these from NAMES_A_GROUP_TYPE in tests/test_rooms.py"


def test_no_test_is_imported() -> None:
    # code that several tests use is in tests/support or in a helper module
    importing = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        for line, imported, _ in parsed(file).imports:
            name = imported.rpartition(".")[2]
            if imported.startswith("tests.") and (name.startswith("test_") or name == "conftest"):
                importing.append(f"{file.relative_to(ROOT)}:{line} imports {imported}")
    assert importing == []


def test_file_names_are_distinct() -> None:
    folders: dict[str, list[str]] = {}
    for file in ROOT.rglob("*.py"):
        folder = file.parent.relative_to(ROOT)
        if folder.parts and folder.parts[0] in rooms() and not file.name.startswith("__"):
            folders.setdefault(file.name, []).append(str(folder))
    shared = {
        name: sorted(where)
        for name, where in folders.items()
        if len(where) > 1 and sorted(where) != ["broker/apis", "protocol/messages"]
    }
    assert {name: where for name, where in shared.items() if len(where) > 2 or "cli/ctl" not in where} == {}
