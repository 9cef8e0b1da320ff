"""The page for a browser: static files, that ask the same endpoints as everybody else."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from kohort.control.endpoint_context import not_found

router = APIRouter(tags=["page"], include_in_schema=False)

FOLDER = "/page/"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
HEADERS = {
    # Nothing comes from elsewhere and nothing goes there, whatever a client has called itself.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def is_page(path: str) -> bool:
    """Whether a path leads to a file of the page."""
    return path == "/" or path.startswith(FOLDER)


@router.get("/")
async def page() -> Response:
    """The page itself."""
    return _file("index.html")


@router.get(FOLDER + "offers.js")
async def offers(request: Request) -> Response:
    """Return a module that names the paths served here: a proxy serves fewer than a broker."""
    paths = json.dumps(request.app.state.paths)
    return Response(f"export const paths = new Set({paths})\n", media_type=TYPES["js"], headers=HEADERS)


@router.get(FOLDER + "{name}")
async def part_of_page(name: str) -> Response:
    """Its style sheet and its modules."""
    return _file(name)


def _file(name: str) -> Response:
    content = _files().get(name)
    if content is None:
        raise not_found(f"the page has no file {name}")
    return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers=HEADERS)


@cache
def _files() -> dict[str, bytes]:
    """All of them, read once: no name of a request becomes a path."""
    there = files("kohort.control.page").iterdir()
    return {each.name: each.read_bytes() for each in there if each.name.rpartition(".")[2] in TYPES}
