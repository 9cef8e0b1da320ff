"""The conversations recorded from a real Kafka, played over real connections against `kohort serve`.

    python -m tests.conformance --shared ../shared

For each profile a broker is started with its settings, and `conformance/converse` of the shared folder talks to it.
Profiles that restart it get one with a data directory, which is killed and started again; `--data-dir` gives all one.
Takes as long as its slowest conversation, five minutes; `--quick`
leaves out the profiles that wait for minutes, and says so. `--proxy` puts `kohort proxy` between, wherever clients
speak plainly; with `--kafka-port` a real Kafka answers in kohort's place, one profile after the other.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.conformance_clusters import KOHORT, Setup, standing

RELEASES = ("4.4", "4.3")

SLOWEST_FIRST = ("slow", "retention")
"""Profiles whose conversations wait for minutes."""

AT_A_TIME = 3
"""Profiles played together: the slow ones only wait, so that one at a time does the work."""

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
    parser.add_argument(
        "--kafka", action="append", choices=RELEASES, help="a release that responds; all unless said; may be repeated"
    )
    parser.add_argument("--kafka-port", type=int, default=0, help="a real Kafka answers there, instead of kohort")
    options = parser.parse_args()
    conformance: Path = options.shared / "conformance"
    if not (conformance / "converse").exists():
        print(f"there are no recorded conversations in {conformance}; nothing is played")
        return
    outcomes = [play_release(options, release) for release in options.kafka or RELEASES]
    passed, failed = (sum(counts) for counts in zip(*outcomes, strict=True))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def play_release(options: argparse.Namespace, release: str) -> tuple[int, int]:
    """Play the conversations of a release. Return how many passed and how many failed."""
    conformance: Path = options.shared / "conformance"
    print(f"=== Kafka {release}", flush=True)
    files = conversations(conformance / "scenarios", release)
    profiles = yaml.safe_load((conformance / "profiles.yaml").read_text())
    chosen = [profile for profile in order(files) if not options.profile or profile in options.profile]
    if options.quick:
        for profile in set(SLOWEST_FIRST).intersection(chosen):
            print(f"left out: profile {profile} with {len(files[profile])} conversations, which wait", flush=True)
        chosen = [profile for profile in chosen if profile not in SLOWEST_FIRST]
    passed = failed = 0
    with ThreadPoolExecutor(1 if options.kafka_port else AT_A_TIME) as pool:
        plays = {
            pool.submit(play, setup_of(options, profile, profiles[profile], release), files[profile]): profile
            for profile in chosen
        }
        for done in as_completed(plays):
            outcome = done.result()
            passed, failed = passed + outcome.passed, failed + outcome.failed
            print(f"== {plays[done]}\n{outcome.text}", flush=True)
    print(f"Kafka {release}: {passed} passed, {failed} failed", flush=True)
    return passed, failed


def conversations(scenarios: Path, release: str) -> dict[str, list[Path]]:
    """Return the files to play, by profile.

    A file in `scenarios/kafka-4.4` replaces the one with the same name if the release is 4.4.
    """
    files = defaultdict(list)
    newer = scenarios / "kafka-4.4"
    by_name = {path.relative_to(scenarios): path for path in scenarios.rglob("*.talk") if newer not in path.parents}
    if release == "4.4":
        by_name |= {path.relative_to(newer): path for path in newer.rglob("*.talk")}
    for _, path in sorted(by_name.items()):
        said = re.search(r"^# profile: (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        files[said[1] if said else "default"].append(path)
    return files


def order(files: dict[str, list[Path]]) -> list[str]:
    """The profiles that take minutes first."""
    return sorted(files, key=lambda profile: (profile not in SLOWEST_FIRST, profile))


def setup_of(options: argparse.Namespace, profile: str, said: dict[str, Any], release: str) -> Setup:
    """What stands there for a profile, of which `said` is told in profiles.yaml."""
    return Setup(
        settings=(said.get("settings") or {}) | (said.get(f"settings-{release}") or {}),
        nodes=said.get("nodes", 1),
        listeners=tuple(said.get("listeners", "").split()),
        profile=profile,
        conformance=options.shared / "conformance",
        kohort=options.kohort,
        on_disk=options.data_dir,
        proxied=options.proxy,
        kafka_port=options.kafka_port,
        release=release,
    )


def play(setup: Setup, files: list[Path]) -> Outcome:
    """Plays the conversations of one profile. Those that fail are played once more, alone, and that counts.

    Time is real here. A busy machine can be late, and with the sweep of the profile `retention`, every half second, any
    broker may forget an empty group between the two steps of its first join.
    """
    first = play_once(setup, files)
    failed = set(FAILED.findall(first.text))
    again = [file for file in files if f"{file.parent.name}/{file.stem}" in failed]
    if not again:
        return first
    second = play_once(setup, again)
    text = f"{first.text}\nplayed once more, alone: {', '.join(sorted(failed))}\n{second.text}"
    return Outcome(first.passed + second.passed, second.failed, text)


def play_once(setup: Setup, files: list[Path]) -> Outcome:
    """Plays conversations against a broker of their own."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, standing(setup, Path(folder)) as cluster:
        told = subprocess.run(
            [sys.executable, str(setup.conformance / "converse"), "--quiet", "--kafka", setup.release]
            + ["--bootstrap", cluster.bootstrap, "--profile", setup.profile]
            + [f"--listener={name}={address}" for name, address in cluster.listeners.items()]
            + (["--restart", cluster.restart] if cluster.restart else [])
            + [str(file) for file in files],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout
        log = Path(folder) / "log"
        logged = log.read_text() if log.exists() else ""
    count = COUNT.search(told)
    passed, failed = (int(count[1]), int(count[2])) if count else (0, len(files))
    if failed and logged:
        told += f"the broker's log ended so:\n{logged[-4_000:]}"
    return Outcome(passed, failed, f"{told.rstrip()} ({time.monotonic() - started:.0f} s)")


if __name__ == "__main__":
    main()
