"""The page for browsers: static files that use the same endpoints as other clients."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from kohort.control.http.endpoint_context import not_found

router = APIRouter(tags=["page"], include_in_schema=False)

FOLDER = "/page/"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
HEADERS = {
    # The page loads nothing from other hosts and sends nothing to them, whatever names clients have.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def is_page(path: str) -> bool:
    return path == "/" or path.startswith(FOLDER)


@router.get("/")
async def page() -> Response:
    """Return the HTML page."""
    return _file("index.html")


@router.get(FOLDER + "offers.js")
async def offers(request: Request) -> Response:
    """Return a module that lists the paths served here: a proxy serves fewer than a broker."""
    paths = json.dumps(request.app.state.paths)
    return Response(f"export const paths = new Set({paths})\n", media_type=TYPES["js"], headers=HEADERS)


@router.get(FOLDER + "{name}")
async def part_of_page(name: str) -> Response:
    """Return a style sheet or a module of the page."""
    return _file(name)


def _file(name: str) -> Response:
    content = _files().get(name)
    if content is None:
        raise not_found(f"the page has no file {name}")
    return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers=HEADERS)


@cache
def _files() -> dict[str, bytes]:
    """Return all files, which are read once, so that no name in a request becomes a path."""
    entries = files("kohort.control.http.page").iterdir()
    return {entry.name: entry.read_bytes() for entry in entries if entry.name.rpartition(".")[2] in TYPES}
