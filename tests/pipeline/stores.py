"""A store that speaks S3, and one that refuses everything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.fs as fs
import pytest

BUCKET = "broker-backups"


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the address of a store in this process, which is emptied at the end."""
    from moto.server import ThreadedMotoServer

    store = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    store.start()
    host, port = store.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        store.stop()


def use(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Configure `s3://` to use this store."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def bucket_in(endpoint: str) -> fs.S3FileSystem:
    """Create the bucket and wait for it, since the machine may be busy."""
    system = fs.S3FileSystem(
        endpoint_override=endpoint, allow_bucket_creation=True, connect_timeout=60, request_timeout=60
    )
    system.create_dir(BUCKET)
    return system


def put(store: fs.S3FileSystem, folder: Path, prefix: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with store.open_output_stream(f"{BUCKET}/{prefix}/{path.relative_to(folder)}") as stream:
                stream.write(path.read_bytes())


def fetch(store: fs.S3FileSystem, prefix: str, folder: Path) -> Path:
    """Copy everything under a prefix of the bucket to a folder."""
    file_info = store.get_file_info(fs.FileSelector(f"{BUCKET}/{prefix}", recursive=True))
    for each in file_info:
        if each.is_file:
            place = folder / each.path.removeprefix(f"{BUCKET}/{prefix}/")
            place.parent.mkdir(parents=True, exist_ok=True)
            with store.open_input_file(each.path) as file:
                place.write_bytes(file.read())
    return folder


@dataclass
class Refusing:
    """A store that answers every request with an error. requests: the methods that came."""

    status: int
    code: str
    endpoint: str = ""
    requests: list[str] = field(default_factory=list)


@contextmanager
def refusing_store(status: int, code: str) -> Iterator[Refusing]:
    """Serve only this S3 error."""
    store = Refusing(status, code)
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>not now</Message></Error>'.encode()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            store.requests.append(self.command)
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(status)
            self.send_header("content-type", "application/xml")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815  (names that http.server calls)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    store.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
