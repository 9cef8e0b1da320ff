"""Plays the conversations recorded from a real Kafka against `kohort serve`, over real connections.

    python -m tests.conformance --shared ../shared

For each profile, a broker is started with its settings, and `conformance/converse` of the shared folder connects to it.
For profiles that restart the broker it has a data directory, and is killed and started again; `--data-dir` adds a data
directory for all. The duration is that of the slowest conversation, five minutes; `--quick` leaves out the profiles
that wait for minutes. `--proxy` adds `kohort proxy` for all listeners without TLS. With `--kafka-port` a real Kafka is
used in place of kohort, for one profile after the other.
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

from tests.conformance_clusters import KOHORT, Setup, running

RELEASES = ("4.4", "4.3")

SLOW_PROFILES = ("slow", "retention")  # their conversations wait for minutes; played first
CONCURRENT_PROFILES = 3  # the two slow ones only wait

COUNT = re.compile(r"^(\d+) passed, (\d+) failed", re.MULTILINE)
FAILED = re.compile(r"^FAIL +(?:kafka-[\d.]+/)?(\S+)", re.MULTILINE)  # name without the folder of a release


class Outcome(NamedTuple):
    """Result of one profile."""

    passed: int
    failed: int
    text: str


def main() -> None:
    """Exit with 1 if a conversation failed, with 0 also if there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="folder that contains `conformance`")
    parser.add_argument("--profile", action="append", help="play only this profile; may be repeated")
    parser.add_argument("--quick", action="store_true", help=f"without {' and '.join(SLOW_PROFILES)}")
    parser.add_argument("--kohort", type=Path, default=KOHORT, help="program; default: that of this Python")
    parser.add_argument("--data-dir", action="store_true", help="store the logs of all brokers on disk")
    parser.add_argument("--proxy", action="store_true", help="use `kohort proxy` for listeners without TLS")
    parser.add_argument(
        "--kafka", action="append", choices=RELEASES, help="release to play; default: all; may be repeated"
    )
    parser.add_argument("--kafka-port", type=int, default=0, help="start a real Kafka on this port in place of kohort")
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
        for profile in set(SLOW_PROFILES).intersection(chosen):
            print(f"left out: profile {profile} with {len(files[profile])} conversations, which wait", flush=True)
        chosen = [profile for profile in chosen if profile not in SLOW_PROFILES]
    passed = failed = 0
    with ThreadPoolExecutor(1 if options.kafka_port else CONCURRENT_PROFILES) as pool:
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
        profile = re.search(r"^# profile: (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        files[profile[1] if profile else "default"].append(path)
    return files


def order(files: dict[str, list[Path]]) -> list[str]:
    """Return the profiles, the slow ones first."""
    return sorted(files, key=lambda profile: (profile not in SLOW_PROFILES, profile))


def setup_of(options: argparse.Namespace, profile: str, entry: dict[str, Any], release: str) -> Setup:
    """Return the cluster of a profile with that entry in profiles.yaml."""
    return Setup(
        settings=(entry.get("settings") or {}) | (entry.get(f"settings-{release}") or {}),
        nodes=entry.get("nodes", 1),
        listeners=tuple(entry.get("listeners", "").split()),
        profile=profile,
        conformance=options.shared / "conformance",
        kohort=options.kohort,
        on_disk=options.data_dir,
        proxied=options.proxy,
        kafka_port=options.kafka_port,
        release=release,
    )


def play(setup: Setup, files: list[Path]) -> Outcome:
    """Play the conversations of one profile. Those that fail are repeated alone, and that result counts.

    The clock is real here. A busy machine can be late, and the profile `retention` expires groups every half second, so
    any broker may delete an empty group between the two steps of its first join. Another conversation may write to the
    same partition of `__consumer_offsets`, which hides a group that a rejected join has removed.
    """
    first = play_once(setup, files)
    failed = set(FAILED.findall(first.text))
    repeated = [file for file in files if f"{file.parent.name}/{file.stem}" in failed]
    if not repeated:
        return first
    second = play_once(setup, repeated)
    text = f"{first.text}\nrepeated alone: {', '.join(sorted(failed))}\n{second.text}"
    return Outcome(first.passed + second.passed, second.failed, text)


def play_once(setup: Setup, files: list[Path]) -> Outcome:
    """Play conversations against a new broker."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, running(setup, Path(folder)) as cluster:
        output = subprocess.run(
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
    count = COUNT.search(output)
    passed, failed = (int(count[1]), int(count[2])) if count else (0, len(files))
    if failed and logged:
        output += f"the end of the broker's log:\n{logged[-4_000:]}"
    return Outcome(passed, failed, f"{output.rstrip()} ({time.monotonic() - started:.0f} s)")


if __name__ == "__main__":
    main()
