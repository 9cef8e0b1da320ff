"""Packaging: each top-level folder is a package, installed as `kohort.<folder>`. The rest is in pyproject.toml.

The files of the package `kohort` itself are in `package/kohort/`. It must have an `__init__.py`: pytest derives from
the list of installed files which modules of a plugin to rewrite, and would take the packages of a namespace package for
top-level modules named `client`, `storage` and so on.

With KOHORT_COMPILE=1 a wheel also contains compiled versions (mypyc) of the modules listed in pyproject.toml under
`[tool.kohort]`, which Python prefers. Without a C compiler the wheel is plain Python, and a line reports it.
KOHORT_OPT_LEVEL=0 compiles quickly, for tests.

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

ROOT = Path(__file__).parent
NOT_INSTALLED = {"tests", "benchmarks"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETTINGS = PYPROJECT["tool"]["kohort"]
TYPES = ROOT / "typings"  # folder in which mypy finds the packages as `kohort`: it contains a link to this folder


def has_compiler() -> bool:
    """Return whether there is a C compiler that finds Python's headers."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "probe.c").write_text("#include <Python.h>\n")
        command = [*compiler, "-I", sysconfig.get_path("include"), "-c", "probe.c"]
        try:
            return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
        except OSError:
            return False


def extensions() -> list[Any]:
    """Return the extension modules of mypyc."""
    from mypyc.build import mypycify

    os.chdir(ROOT)  # so that the C code holds no path of this machine
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
            module.extra_compile_args.append("-Wno-all")  # warnings take longer than compiling
    return modules


def compiling() -> dict[str, Any]:
    """Return the arguments of `setup` for a wheel with compiled modules."""
    if os.environ.get("KOHORT_COMPILE") != "1":
        return {}
    builds = not {"bdist_wheel", "build_ext"}.isdisjoint(sys.argv)
    if not has_compiler():
        if builds:
            print(
                "kohort: found no C compiler with Python's headers; building a wheel without compiled modules",
                file=sys.stderr,
            )
        return {}
    # setuptools requests the requirements before mypyc is installed; a build that begins then has them.
    needs = [*SETTINGS["compiling-needs"], *PYPROJECT["project"]["dependencies"]]
    return {"setup_requires": needs} | ({"ext_modules": extensions()} if builds else {})


class BuildWithSyncTypes(build_py):  # type: ignore[misc]  # setuptools has no types here
    """`build_py` that generates the types of tests without `await` from the asynchronous classes first."""

    def run(self) -> None:
        runpy.run_path(str(ROOT / "package/sync_types.py"), run_name="__main__")
        super().run()


rooms = {file.parent for file in ROOT.glob("*/__init__.py") if file.parent.name not in NOT_INSTALLED}
folders = sorted(file.parent.relative_to(ROOT).as_posix() for room in rooms for file in room.rglob("__init__.py"))
places = {"kohort": "package/kohort"} | {"kohort." + folder.replace("/", "."): folder for folder in folders}
setup(packages=list(places), package_dir=places, cmdclass={"build_py": BuildWithSyncTypes}, **compiling())
