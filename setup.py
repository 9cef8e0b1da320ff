"""Finds the packages: each top-level folder is a room, installed as `kohort.<room>`. The rest is in pyproject.toml.

The files of the package `kohort` itself are in `package/kohort/`. It must have an `__init__.py`: pytest derives from
the list of installed files which modules of a plugin to rewrite, and would take the rooms of a namespace package for
top-level modules named `client`, `storage` and so on.

With KOHORT_COMPILE=1 a wheel holds the modules that pyproject.toml lists under `[tool.kohort]` twice: as they are, and
compiled by mypyc, which Python then imports. Without a C compiler one line says so, and the wheel is plain Python.
KOHORT_OPT_LEVEL=0 has it compiled quickly, for a test of what it does.

`testing/sync.py` is generated: an editable install writes it into the checkout, a wheel contains it.
"""

import os
import runpy
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
NOT_INSTALLED = {"tests", "benchmarks"}
PYPROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())
SETTINGS = PYPROJECT["tool"]["kohort"]
TYPES = HERE / "typings"
"""Where mypy finds the rooms under the name that they share: it holds a link `kohort` to this folder."""


def has_compiler() -> bool:
    """Whether there is a C compiler that finds Python's headers."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "probe.c").write_text("#include <Python.h>\n")
        command = [*compiler, "-I", sysconfig.get_path("include"), "-c", "probe.c"]
        try:
            return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
        except OSError:
            return False


def extensions() -> list[Any]:
    """The compiled modules."""
    from mypyc.build import mypycify

    os.chdir(HERE)  # so that the C code holds no path of this machine
    os.environ["MYPYPATH"] = TYPES.name
    if not (TYPES / "kohort").exists():  # an archive of the sources has no links
        TYPES.mkdir(exist_ok=True)
        (TYPES / "kohort").symlink_to("..")
    paths = [f"{TYPES.name}/kohort/{path}" for path in SETTINGS["compiled"]]
    arguments = ["--config-file", "pyproject.toml", *paths]
    level = os.environ.get("KOHORT_OPT_LEVEL", "2")
    modules = mypycify(arguments, opt_level=level, debug_level="0", group_name="kohort")
    if level == "0":
        for module in modules:
            module.extra_compile_args.append("-Wno-all")  # looking for what it warns of takes longer than compiling
    return modules


def compiling() -> dict[str, Any]:
    """What a wheel with compiled modules asks of setuptools."""
    if os.environ.get("KOHORT_COMPILE") != "1":
        return {}
    builds = not {"bdist_wheel", "build_ext"}.isdisjoint(sys.argv)
    if not has_compiler():
        if builds:
            print("kohort: no C compiler that finds Python's headers: this wheel is plain Python", file=sys.stderr)
        return {}
    # The packages are asked for before mypyc is there; a build that begins then has them.
    needs = [*SETTINGS["compiling-needs"], *PYPROJECT["project"]["dependencies"]]
    return {"setup_requires": needs} | ({"ext_modules": extensions()} if builds else {})


class BuildWithSyncTypes(build_py):  # type: ignore[misc]  # setuptools has no types here
    """`build_py` that generates the types of tests without `await` from the asynchronous classes first."""

    def run(self) -> None:
        runpy.run_path(str(HERE / "package/sync_types.py"), run_name="__main__")
        super().run()


rooms = {file.parent for file in HERE.glob("*/__init__.py") if file.parent.name not in NOT_INSTALLED}
folders = sorted(file.parent.relative_to(HERE).as_posix() for room in rooms for file in room.rglob("__init__.py"))
places = {"kohort": "package/kohort"} | {"kohort." + folder.replace("/", "."): folder for folder in folders}
setup(packages=list(places), package_dir=places, cmdclass={"build_py": BuildWithSyncTypes}, **compiling())
