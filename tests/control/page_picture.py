"""Makes the README's picture of the page: `python -m tests.control.page_picture FILE`. Wants Chromium."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from tests.clients.polling import polling
from tests.clients.serving import serving
from tests.support.chromium_tab import tab


def main(to: Path) -> None:
    """Show three consumers, a fourth one that joins, and one of the three that does not rejoin."""
    with serving(options=("--control", ":0")) as ready, tab() as browser, ExitStack() as members:
        bootstrap, _, control = ready.partition(" control=")
        http = members.enter_context(httpx.Client(base_url=f"http://{control}"))
        http.post("/topics", json={"name": "orders", "partitions": 6}).raise_for_status()
        members.enter_context(polling(bootstrap, "shipping", "xavier"))
        members.enter_context(polling(bootstrap, "billing", "ada"))
        browser.open(f"http://{control}/", 1400, 900)
        for name in ("bob", "eve"):
            time.sleep(2)
            members.enter_context(polling(bootstrap, "billing", name))
        time.sleep(3)
        http.post("/gates", json={"name": "commit-received"}).raise_for_status()
        http.post("/faults", json={"match": {"api": "JoinGroup", "client_id": "bob"}, "do": "hold"}).raise_for_status()
        members.enter_context(polling(bootstrap, "billing", "finn"))
        members.callback(http.post, "/reset")
        browser.until("document.body.innerText.includes('3 of 4 members have joined')")
        time.sleep(1.5)
        browser.picture(to)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
