"""The conversations recorded from a real Kafka, played over real connections against `kohort serve`.

    python -m tests.conformance --shared ../shared

For each profile a broker is started with its settings, and `conformance/converse` of the shared folder talks to it.
Profiles that restart it get one with a data directory, which is killed and started again; `--data-dir` gives all one.
What kohort does not do yet (later.py) is left out. Takes as long as its slowest conversation, five minutes; `--quick`
leaves out the profiles that wait for minutes, and says so.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.later import why_later
from tests.restarting import READY, kill, start

KOHORT = Path(sys.executable).parent / "kohort"
SLOWEST_FIRST = ("slow", "retention")
"""Profiles whose conversations wait for minutes."""

RESTARTED = ("restart", "share-restart")
"""Profiles whose conversations restart the broker."""

AT_A_TIME = 3
"""Profiles played together: the slow ones only wait, so that one at a time does the work."""

LISTENER = re.compile(r"(\w+)://([^,\s]+)")
"""One of several listeners in the line that says READY."""

COUNT = re.compile(r"^(\d+) passed, (\d+) failed", re.MULTILINE)
FAILED = re.compile(r"^FAIL +(\S+)", re.MULTILINE)


class Outcome(NamedTuple):
    """How one profile went."""

    passed: int
    failed: int
    text: str


def main() -> None:
    """Exits with 1 when a conversation failed, with 0 also when there are none to play."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder that has `conformance`")
    parser.add_argument("--profile", action="append", help="play only these; may be repeated")
    parser.add_argument("--quick", action="store_true", help=f"without {' and '.join(SLOWEST_FIRST)}")
    parser.add_argument("--kohort", type=Path, default=KOHORT, help="the program, if another than beside this Python")
    parser.add_argument("--data-dir", action="store_true", help="brokers keep their logs on disk")
    parser.add_argument("--proxy", action="store_true", help="through `kohort proxy`, where clients may speak plainly")
    options = parser.parse_args()
    conformance: Path = options.shared / "conformance"
    if not (conformance / "converse").exists():
        print(f"there are no recorded conversations in {conformance}; nothing is played")
        return
    files = conversations(conformance / "scenarios")
    profiles = yaml.safe_load((conformance / "profiles.yaml").read_text())
    chosen = [profile for profile in order(files) if not options.profile or profile in options.profile]
    if options.quick:
        for profile in set(SLOWEST_FIRST).intersection(chosen):
            print(f"left out: profile {profile} with {len(files[profile])} conversations, which wait", flush=True)
        chosen = [profile for profile in chosen if profile not in SLOWEST_FIRST]
    if options.proxy:
        for profile in [each for each in chosen if "listeners" in profiles[each]]:
            print(f"left out: profile {profile}, whose clients speak TLS themselves", flush=True)
            chosen.remove(profile)
    passed = failed = 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        plays = {
            pool.submit(
                play,
                conformance,
                profile,
                {
                    **profiles[profile],
                    "on_disk": options.data_dir,
                    "kohort": str(options.kohort),
                    "proxied": options.proxy,
                },
                files[profile],
            ): profile
            for profile in chosen
        }
        for done in as_completed(plays):
            outcome = done.result()
            passed, failed = passed + outcome.passed, failed + outcome.failed
            print(f"== {plays[done]}\n{outcome.text}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def conversations(scenarios: Path) -> dict[str, list[Path]]:
    """The files to play, by profile. Tells what is left out, and why."""
    files = defaultdict(list)
    left_out: Counter[str] = Counter()
    for path in sorted(scenarios.rglob("*.talk")):
        reason = why_later(str(path.relative_to(scenarios).with_suffix("")))
        if reason:
            left_out[reason] += 1
            continue
        said = re.search(r"^# profile: (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        files[said[1] if said else "default"].append(path)
    for reason, count in left_out.items():
        print(f"left out: {count}, which need {reason}", flush=True)
    return files


def order(files: dict[str, list[Path]]) -> list[str]:
    """The profiles that take minutes first."""
    return sorted(files, key=lambda profile: (profile not in SLOWEST_FIRST, profile))


def play(conformance: Path, profile: str, about: dict[str, Any], files: list[Path]) -> Outcome:
    """Plays the conversations of one profile. Those that fail are played once more, alone, and that counts.

    Time is real here. A busy machine can be late, and with the sweep of the profile `retention`, every half second, any
    broker may forget an empty group between the two steps of its first join.
    """
    first = play_once(conformance, profile, about, files)
    failed = set(FAILED.findall(first.text))
    again = [file for file in files if f"{file.parent.name}/{file.stem}" in failed]
    if not again:
        return first
    second = play_once(conformance, profile, about, again)
    text = f"{first.text}\nplayed once more, alone: {', '.join(sorted(failed))}\n{second.text}"
    return Outcome(first.passed + second.passed, second.failed, text)


def play_once(conformance: Path, profile: str, about: dict[str, Any], files: list[Path]) -> Outcome:
    """Plays conversations against a broker of their own."""
    started = time.monotonic()
    on_disk = (about["on_disk"] or profile in RESTARTED) and "listeners" not in about
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_:
        if "listeners" in about:
            about["config"] = Path(folder) / "server.properties"
            about["config"].write_text(settings_of(conformance, profile))
        bootstrap = open_.enter_context((restartable if on_disk else broker)(about, Path(folder)))
        if about["proxied"]:
            bootstrap = open_.enter_context(proxy(about, bootstrap))
        told = subprocess.run(
            [sys.executable, str(conformance / "converse"), "--bootstrap", bootstrap, "--profile", profile, "--quiet"]
            + [f"--listener={name}={address}" for name, address in about.get("open", {}).items()]
            + (["--restart", f"{sys.executable} -m tests.restarting {folder}"] if on_disk else [])
            + [str(file) for file in files],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout
        logged = (Path(folder) / "log").read_text()
    count = COUNT.search(told)
    passed, failed = (int(count[1]), int(count[2])) if count else (0, len(files))
    if failed and logged:
        told += f"the broker's log ended so:\n{logged[-4_000:]}"
    return Outcome(passed, failed, f"{told.rstrip()} ({time.monotonic() - started:.0f} s)")


def settings_of(conformance: Path, profile: str) -> str:
    """Kafka's own settings for a profile with several listeners, with the certificates that the conversations show."""
    command = [sys.executable, str(conformance / "kafka"), "settings", "--profile", profile]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def serve(about: dict[str, Any]) -> list[str]:
    """The command that starts a broker with the settings of a profile, somewhere."""
    if "config" in about:
        names = str(about["listeners"]).split()
        anywhere = ",".join(f"{name}://127.0.0.1:0" for name in names)
        command = [
            about.get("kohort", str(KOHORT)),
            "serve",
            "--log-level",
            "warning",
            "--config",
            str(about["config"]),
        ]
        return [*command, "--set", f"listeners={anywhere}", "--set", "advertised.listeners="]
    settings = about.get("settings") or {}
    assert isinstance(settings, dict)
    command = [
        about.get("kohort", str(KOHORT)),
        "serve",
        "--log-level",
        "warning",
        "--nodes",
        str(about.get("nodes", 1)),
    ]
    for name, value in settings.items():
        command += ["--set", f"{name}={str(value).lower()}"]
    return command


@contextmanager
def broker(about: dict[str, Any], folder: Path) -> Iterator[str]:
    """A broker with the settings of a profile, which logs to a folder; yields its address."""
    command = serve(about) if "config" in about else [*serve(about), "--listen", "127.0.0.1:0"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    try:
        line = process.stdout.readline()
        ready = READY.match(line)
        if not ready:
            sys.exit(f"the broker did not start: {' '.join(command)}\n{(folder / 'log').read_text()}")
        about["open"] = dict(LISTENER.findall(line))
        yield ready[1]
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def proxy(about: dict[str, Any], bootstrap: str) -> Iterator[str]:
    """A proxy before a broker; yields its address."""
    command = [about["kohort"], "proxy", bootstrap, "--log-level", "error"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        ready = READY.match(process.stdout.readline())
        if not ready:
            sys.exit(f"the proxy did not start: {' '.join(command)}")
        try:
            yield ready[1]
        finally:
            process.terminate()


@contextmanager
def restartable(about: dict[str, Any], folder: Path) -> Iterator[str]:
    """The same with its data in the folder too, for `tests.restarting`."""
    try:
        yield start(folder, serve(about))
    finally:
        kill(folder, signal.SIGTERM)


if __name__ == "__main__":
    main()
