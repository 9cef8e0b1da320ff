"""Prints the requirements of kohort and of some extras: `requirements.py pyproject.toml EXTRA…`, for a cached layer."""

import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *(requirement for extra in sys.argv[2:] for requirement in extras[extra]), sep="\n")
