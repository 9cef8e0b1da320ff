"""The packages: every room is a top-level folder, and installs as `kohort.<room>`. All else is in pyproject.toml."""

from pathlib import Path

from setuptools import setup

ROOMS = (
    *("protocol", "purgatory", "coordinator", "storage", "broker", "control"),
    *("testing", "demo", "watch", "pipeline", "cli"),
)
HERE = Path(__file__).parent

folders = [
    file.parent.relative_to(HERE).as_posix() for room in ROOMS for file in sorted((HERE / room).rglob("__init__.py"))
]
setup(
    packages=["kohort." + folder.replace("/", ".") for folder in folders],
    package_dir={"kohort." + folder.replace("/", "."): folder for folder in folders},
)
