"""Headless Chromium, for looking at the report: what a page measures, and what it looks like."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.support.chromium_tab import chromium

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
LIGHT, DARK = 1, 0
"""As Blink numbers the colour schemes."""
TIMEOUT_S = 120
ANSWER = re.compile(r'<meta name="answer" content="([^"]*)"')


def ask(page: Path, script: str, width: int, scheme: int = LIGHT) -> Any:
    """What a function body of JavaScript returns on the page, when that is so many pixels wide."""
    # A closing tag of the page must not end the script that holds it.
    text = json.dumps(page.read_text(encoding="utf-8")).replace("</", "<\\/")
    asking = f"(() => {{{script}}})()"
    # Headless Chromium cannot be narrower than 500 pixels: the page is looked at through a frame of its own.
    framed = f"""<!doctype html><iframe id=f style="width:{width}px;height:900px;border:0"></iframe><script>
        const frame = document.getElementById('f')
        frame.srcdoc = {text}
        frame.onload = () => {{
            const answer = document.createElement('meta')
            answer.name = 'answer'
            answer.content = encodeURIComponent(JSON.stringify(frame.contentWindow.eval({json.dumps(asking)})))
            document.head.append(answer)
        }}</script>"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(framed, encoding="utf-8")
        dom = _run(
            path, folder, "--dump-dom", "--virtual-time-budget=5000", f"--window-size={max(width, 500)},900", scheme
        )
    found = ANSWER.search(dom)
    assert found, dom[:2_000]
    return json.loads(unquote(found[1]))


def picture(page: Path, to: Path, width: int, height: int, scheme: int = LIGHT) -> None:
    """The upper part of a page as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        _run(
            page,
            folder,
            f"--screenshot={to.resolve()}",
            f"--window-size={width},{height}",
            "--force-device-scale-factor=1",
            scheme,
        )


def _run(page: Path, folder: str, *options: str | int) -> str:
    *words, scheme = options
    found = chromium()
    assert found is not None, "ask for chromium() first"
    command = [found, *OPTIONS, f"--user-data-dir={folder}/profile", f"--blink-settings=preferredColorScheme={scheme}"]
    done = subprocess.run(
        [*command, *map(str, words), page.resolve().as_uri()],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return done.stdout
