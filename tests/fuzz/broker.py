"""The broker under test: a `kohort serve` process with its log and its memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import deque
from pathlib import Path
from threading import Thread
from typing import IO

READY = "READY bootstrap="
STOP_WITHIN_S = 120
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.max.session.timeout.ms": "10000",
    "transaction.max.timeout.ms": "10000",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "connections.max.idle.ms": "20000",
    "log.retention.bytes": "1000000",
    "log.segment.bytes": "1048576",
    "log.retention.check.interval.ms": "5000",
}  # state of damaged requests expires soon, so that memory can be compared at the end of a run

USER, PASSWORD = "alice", "alice-secret"
# watchers use the plain listener and may do everything; fuzzing clients log in and have the permissions of their ACLs
SECURED = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'PlainLoginModule required user_{USER}="{PASSWORD}";',
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": "OAuthBearerLoginModule required;",
    "connection.failed.authentication.delay.ms": "50",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}

_ORDINARY = re.compile(rb"^\S*\d\d:\d\d:\d\d")  # start of a log line; lines of a traceback do not match

_MISTAKES = 40  # maximum number of distinct errors that are kept


class Broker:
    """Runs until it is stopped. `mistakes` contains each error in the log once."""

    def __init__(self, data_dir: Path | None = None, *, secured: bool = False) -> None:
        report = os.environ.get("STEPS")
        module = ["kohort.cli"] if report is None else ["benchmarks.stalls.steps", report]
        command = [sys.executable, "-m", *module, "serve", "--log-level", "warning"]
        command += [] if secured else ["--listen", "127.0.0.1:0"]
        for name, value in (SETTINGS | (SECURED if secured else {})).items():
            command += ["--set", f"{name}={value}"]
        if data_dir is not None:
            command += ["--data-dir", str(data_dir), "--fsync", "never"]
        self.mistakes: dict[bytes, bytes] = {}
        self.last_lines: deque[bytes] = deque(maxlen=40)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._reader = Thread(target=self._read_log, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        line = self.process.stdout.readline().decode()
        assert line.startswith(READY), f"not ready: {line!r} {self.log_tail()}"
        self.port = int(line.split()[1].rpartition(":")[2])
        # port for fuzzing clients: the last listener
        self.storm_port = int(line.rpartition(":")[2]) if secured else self.port

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def rss_mb(self) -> float:
        """Return the resident memory."""
        match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        return int(match[1]) / 1024 if match else 0.0

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        return b"".join(self.last_lines).decode(errors="replace")

    def stop(self) -> int:
        """Stop the broker as a user would, and return its exit code."""
        self.process.terminate()
        try:
            code = self.process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._reader.join(STOP_WITHIN_S)
        return code

    def _read_log(self, log: IO[bytes]) -> None:
        traceback: list[bytes] = []
        for line in log:
            self.last_lines.append(line[:1_000])
            if _ORDINARY.match(line):
                self._note(traceback)
                traceback = [line[:2_000]] if b"error" in line[:60].lower() else []
            elif traceback or line.startswith(b"Traceback"):
                traceback.append(line)
        self._note(traceback)

    def _note(self, traceback: list[bytes]) -> None:
        if traceback and len(self.mistakes) < _MISTAKES:
            place = [line.strip() for line in traceback if line.lstrip().startswith(b"File ")][-1:]
            self.mistakes.setdefault(b" ".join((*place, traceback[-1].strip()[:60])), b"".join(traceback))
