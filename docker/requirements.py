"""Prints the requirements of kohort and of some extras: `requirements.py pyproject.toml EXTRA…`, for a cached layer."""

import re
import sys
import tomllib
from collections.abc import Iterator

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]


def requirements_of(extra: str) -> Iterator[str]:
    """Yield the requirements of an extra and of other extras of kohort that it includes."""
    for requirement in project["optional-dependencies"][extra]:
        included = re.fullmatch(r"kohort\[([\w,]+)\]", requirement)
        if included is None:
            yield requirement
        else:
            for name in included[1].split(","):
                yield from requirements_of(name)


extras = [requirement for extra in sys.argv[2:] for requirement in requirements_of(extra)]
print(*dict.fromkeys([*project["dependencies"], *extras]), sep="\n")
