"""Prints what kohort and some of its extras need: `requirements.py pyproject.toml EXTRA…`, for a layer that lasts."""

import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
print(*project["dependencies"], *(each for extra in sys.argv[2:] for each in extras[extra]), sep="\n")
