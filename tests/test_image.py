"""The container's image, as far as that can be seen without an engine: what it says, and what it would run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()


def instructions() -> list[tuple[str, str]]:
    """Names and arguments, without comments; a backslash at the end of a line goes on with the next one."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    return [
        (name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in whole.splitlines()) if name
    ]


def last(wanted: str) -> str:
    """The arguments of the last instruction of that name."""
    return [rest for name, rest in instructions() if name == wanted][-1]


def environment() -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", last("ENV")))


def test_dependencies_are_installed_before_sources() -> None:
    steps = [f"{name} {rest}" for name, rest in instructions()]
    first_install = next(number for number, step in enumerate(steps) if "pip install" in step)
    sources = steps.index("COPY . .")
    assert first_install < sources
    assert "--no-deps ." in steps[sources + 1]
    command = re.search(r"python requirements\.py (\S+) (.*?) >", steps[first_install])
    assert command is not None
    (default,) = (rest for name, rest in instructions() if name == "ARG")
    assert (command[2], default) == ("$EXTRAS", 'EXTRAS="control codecs patterns"')
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["control"], *extras["codecs"], *extras["patterns"]]
    assert requirements_of("control", "codecs", "patterns") == requirements


def requirements_of(*extras: str) -> list[str]:
    command = [sys.executable, str(ROOT / "docker" / "requirements.py"), str(ROOT / "pyproject.toml"), *extras]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_requirements_include_extras_of_extras() -> None:
    requirements = requirements_of("analyze")
    assert any(requirement.startswith("cramjam") for requirement in requirements), "of the extra codecs"
    assert not any(requirement.startswith("kohort") for requirement in requirements), "it is not on PyPI"


def test_container_owns_volume_without_privileges() -> None:
    assert last("USER") == "65534:65534"
    (volume,) = json.loads(last("VOLUME"))
    assert ("RUN", f"install -d -o 65534 -g 65534 {volume}") in instructions()
    assert volume in (ROOT / "docs" / "how-to" / "containers.md").read_text()


def test_health_check_uses_port(tmp_path: Path) -> None:
    serve = [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]
    check = json.loads(last("HEALTHCHECK").partition(" CMD ")[2])
    assert serve[0] == check[0] == "kohort"
    assert Path(environment()["KOHORT_READY_FILE"]).parent == Path("/dev/shm"), (
        "writable in a container that is read-only"
    )
    there = (
        os.environ | environment() | {"PATH": os.environ["PATH"], "KOHORT_READY_FILE": str(tmp_path / "kohort.ready")}
    )
    kohort = [sys.executable, "-m", "kohort.cli"]
    listening = [*kohort, *serve[1:], "--listen", "0.0.0.0:0"]  # its own port may be in use here
    checking = [*kohort, *check[1:], "--timeout", "60"]  # the engine's own limit is not what is asked here
    with subprocess.Popen(listening, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=there, text=True) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("READY")
        healthy = subprocess.run(checking, env=there, capture_output=True, text=True, check=False)
        broker.terminate()
    assert (healthy.returncode, healthy.stderr) == (0, "")
    assert subprocess.run(checking, env=there, capture_output=True, check=False).returncode == 1


def test_compose_runs_image_read_only() -> None:
    service = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]["kohort"]
    assert (ROOT / "docker" / service["build"]["context"] / service["build"]["dockerfile"]).samefile(
        ROOT / "docker" / "Dockerfile"
    )
    assert service["read_only"]
    assert service["volumes"] == [f"kohort:{json.loads(last('VOLUME'))[0]}"]
