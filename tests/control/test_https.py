"""The control address over TLS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trustme

from kohort.broker.runtime.server import ListenError
from kohort.control.http.listening import Control, check_certificate
from tests.clients.serving import serving

KOHORT = str(Path(sys.executable).parent / "kohort")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "control.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    return file


@pytest.fixture(scope="module")
def trusted(authority: trustme.CA, certificate: Path) -> Path:
    file = certificate.with_name("authority.pem")
    authority.cert_pem.write_to_path(file)
    return file


def test_certificate_with_key_is_accepted(certificate: Path) -> None:
    check_certificate(certificate)


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file or directory"), (b"nothing of the kind", "PEM"), (b"", "PEM")]
)
def test_invalid_certificate_names_its_file(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "control.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ListenError, match=r"cannot use --control-certificate .*control\.pem: .*" + reason):
        Control("127.0.0.1", 0, certificate=file)


def test_certificate_without_key_is_rejected(trusted: Path) -> None:
    with pytest.raises(ListenError, match="a PEM file with a certificate and its key"):
        check_certificate(trusted)


def test_mismatched_key_is_rejected(authority: trustme.CA, tmp_path: Path) -> None:
    one, other = authority.issue_cert("127.0.0.1"), authority.issue_cert("127.0.0.1")
    file = tmp_path / "control.pem"
    file.write_bytes(one.private_key_pem.bytes() + other.cert_chain_pems[0].bytes())
    with pytest.raises(ListenError, match="cannot use --control-certificate"):
        check_certificate(file)


def run(*words: str, trusted: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({"SSL_CERT_FILE": str(trusted)} if trusted is not None else {})
    return subprocess.run(
        [KOHORT, *words], capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )


@pytest.mark.clients
@pytest.mark.timeout(180)
def test_kohorts_own_commands_reach_it(certificate: Path, trusted: Path) -> None:
    with serving(options=("--control", ":0", "--control-certificate", str(certificate))) as ready:
        control = ready.partition(" control=")[2]
        assert control.startswith("https://127.0.0.1:")
        listed = run("admin", "nodes", "--control", control, trusted=trusted)
        assert (listed.returncode, listed.stderr) == (0, "")
        watched = run("watch", control, "--once", trusted=trusted)
        assert (watched.returncode, "0 groups" in watched.stdout) == (0, True)
        stranger = run("admin", "nodes", "--control", control)
        assert stranger.returncode == 1
        assert "certificate verify failed" in stranger.stderr
        plain = run("admin", "nodes", "--control", control.removeprefix("https://"), trusted=trusted)
        assert (plain.returncode, plain.stdout) == (1, "")
