"""The fast tests under newer releases of Python than the machine has: `make pythons`.

The interpreters are those of Debian's unstable suite, in a chroot that mmdebstrap creates in the user's cache.
Libraries without a wheel for a release are left out: they would be built from source. Mounts end with the process,
because they are made in a mount namespace of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHROOT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kohort" / "debian-unstable"
PYTHONS = ("3.14", "3.15")
EXTRAS = ("test", "analyze")
FAST = "not long and not clients and not spark and not deep and not libraries"
# Folders of the packages, which have no test of Spark, of other libraries, or of the checkout's tools.
TESTS = (
    "base",
    "protocol",
    "purgatory",
    "coordinator",
    "storage",
    "security",
    "broker",
    "client",
    "control",
    "testing",
)
# Tests of patterns are left out if re2 is missing, and modules that import confluent_kafka if that is.
WITHOUT_RE2 = "-k 'not regex and not pattern and not instance-id-later and not every_event_kind'"
IMPORTS_CONFLUENT_KAFKA = re.compile(r"^(from|import) confluent_kafka\b", re.MULTILINE)
PACKAGES = [f"python{release}-venv" for release in PYTHONS]


def find_reason_to_skip() -> str:
    """Return why the tests cannot run on this machine, or an empty string."""
    if os.geteuid() != 0:
        return "a chroot needs root"
    missing = [program for program in ("mmdebstrap", "unshare") if not shutil.which(program)]
    return f"{', '.join(missing)} is not installed" if missing else ""


def requirements(extras: tuple[str, ...]) -> list[str]:
    """Return the requirements of kohort with these extras, which may name other extras of kohort."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names: list[str] = list(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            nested = re.match(r"kohort\[(.+)\]", requirement)
            names += requirements(tuple(nested[1].split(","))) if nested else [requirement]
    return list(dict.fromkeys(names))


def create_chroot() -> None:
    if CHROOT.exists():
        return
    partial = CHROOT.with_name(CHROOT.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    without_dates = '--aptopt=Acquire::Check-Valid-Until "false"'
    include = "--include=" + ",".join([*PACKAGES, "ca-certificates", "git", "procps"])
    subprocess.run(["mmdebstrap", "--variant=minbase", without_dates, include, "unstable", partial], check=True)
    partial.rename(CHROOT)


def copy_checkout() -> None:
    """Copy the files that git knows or would add into the chroot, and what pip needs to reach an index."""
    target = CHROOT / "kohort"
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
        shutil.copy2(file, CHROOT / file.lstrip("/"))


def run(command: str, *, check: bool = True) -> int:
    """Run a shell command in the chroot, in the copy of the checkout."""
    inside = 'mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && exec chroot "$1" sh -c "$2"'
    code = subprocess.run(
        ["unshare", "--mount", "sh", "-c", inside, "sh", CHROOT, f"cd /kohort && {command}"], check=False
    ).returncode
    if check and code:
        sys.exit(f"{command} failed with exit code {code}")
    return code


def install(release: str) -> list[str]:
    """Create a virtual environment with kohort and all libraries that have wheels. Return the others."""
    uv = f"/uv/bin/uv pip install --quiet --python /python{release}/bin/python"
    run(f"test -d /uv || (python{PYTHONS[0]} -m venv /uv && /uv/bin/pip install --quiet uv)")
    run(f"test -d /python{release} || python{release} -m venv /python{release}")
    needed = requirements(EXTRAS)
    missing = []
    if run(f"{uv} --only-binary :all: {shlex.join(needed)}", check=False):
        missing = [item for item in needed if run(f"{uv} --only-binary :all: {shlex.quote(item)}", check=False)]
    run(f"{uv} --no-deps --editable .")
    return missing


def options(release: str, folders: list[str]) -> list[str]:
    """Return the options of pytest that leave out tests of missing libraries."""

    def is_missing(library: str) -> bool:
        return run(f"/python{release}/bin/python -c 'import {library}' 2> /dev/null", check=False) != 0

    without = [WITHOUT_RE2] if is_missing("re2") else []
    if is_missing("confluent_kafka"):
        paths = (path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob("test_*.py")))
        without += [f"--ignore {path}" for path in paths if IMPORTS_CONFLUENT_KAFKA.search((ROOT / path).read_text())]
    return without


def main() -> None:
    """Exit with the number of releases whose tests failed; print a line for each."""
    if reason := find_reason_to_skip():
        sys.exit(f"cannot test other releases of Python: {reason}")
    create_chroot()
    copy_checkout()
    folders = [f"tests/{name}" for name in TESTS if (ROOT / "tests" / name).is_dir()]
    failed = []
    for release in PYTHONS:
        missing = install(release)
        libraries = f"without {', '.join(missing)}" if missing else "with all libraries"
        print(f"Python {release}, {libraries}", flush=True)
        tests = " ".join([*folders, "tests/test_conversations.py", *options(release, folders)])
        workers = os.cpu_count() or 1
        command = (
            f"/python{release}/bin/python -m pytest -q -n {workers} --dist loadgroup --no-loadscope-reorder "
            f"-p no:cacheprovider -m '{FAST}' {tests}"
        )
        if run(f"PATH=/python{release}/bin:$PATH {command}", check=False):
            failed.append(release)
    sys.exit(f"failed under Python {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
