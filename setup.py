"""Finds the packages: each top-level folder is a room, installed as `kohort.<room>`. The rest is in pyproject.toml.

`kohort` itself is a namespace without an `__init__.py`; what it holds beside the rooms, for `python -m kohort`, is in
`namespace/`.
"""

from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
NOT_INSTALLED = {"tests"}

rooms = {file.parent for file in HERE.glob("*/__init__.py") if file.parent.name not in NOT_INSTALLED}
folders = sorted(file.parent.relative_to(HERE).as_posix() for room in rooms for file in room.rglob("__init__.py"))
places = {"kohort": "namespace"} | {"kohort." + folder.replace("/", "."): folder for folder in folders}
setup(packages=list(places), package_dir=places)
