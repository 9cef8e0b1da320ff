"""Who may ask at the control address: by the name they dialled, the page they come from, and the token they show.

A browser lets any page ask this machine. What such a page can't choose are the headers that are looked at here: a page
whose name was made to point here (DNS rebinding) says its own name as Host, one from elsewhere as Origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from kohort.broker.control_token import is_shown
from kohort.control.routes.page_routes import is_page
from kohort.protocol.visible import visible

LOOPBACK_NAME = "localhost"
EVERYWHERE = ("", "0.0.0.0", "::")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][:/?#@\s]*)(?::\d*)?")
"""A Host header, as RFC 9110 has it in 7.2: a name or an address in brackets, and a port."""


class Admission:
    """Refuses whom a control address does not serve."""

    def __init__(self, token: str = "", host: str = "127.0.0.1", names: Iterable[str] = ()) -> None:
        """`token`: what must be shown; empty: nothing. `host`: where it listens. `names`: further ones it has."""
        self._token = token
        self._names = {_plain(each) for each in (host, *names)}
        self._everywhere = host in EVERYWHERE

    def refusal(self, request: Request) -> Response | None:
        """Why a request is not answered."""
        host = _name(request.headers.get("host", ""))
        if not self._is_ours(host):
            return sentence(
                403,
                f"{host or 'no host'} is no name of this control address; if it is one of yours: "
                "kohort serve --control-host NAME",
            )
        if _is_from_elsewhere(request):
            return sentence(403, "pages of other sites may not control this broker")
        if is_page(path_of(request)):
            return None  # it holds nothing of this broker, and asks its reader for the token
        if self._token and not is_shown(self._token, request.headers.get("authorization", "")):
            return sentence(401, "this broker wants its control token: Authorization: Bearer TOKEN")
        return None

    def _is_ours(self, host: str) -> bool:
        """An address can't be made to point elsewhere, so each one of the machine will do where all are listened on."""
        if host in self._names or host == LOOPBACK_NAME:
            return True
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return self._everywhere or address.is_loopback


def path_of(request: Request) -> str:
    """The path as it was asked for. `request.url` is put together with the Host header, which its sender writes."""
    return str(request.scope["path"])


def sentence(status: int, text: str) -> Response:
    """A refusal. It may quote anything, also what can't be written as UTF-8."""
    return JSONResponse({"detail": visible(text)}, status)


def _is_from_elsewhere(request: Request) -> bool:
    """A page that its reader's browser lets speak to this machine. A link that the reader follows is no such page."""
    origin = request.headers.get("origin")
    if origin is None:
        return (
            request.headers.get("sec-fetch-site") == "cross-site"
            and request.headers.get("sec-fetch-mode") != "navigate"
        )
    try:
        return urlsplit(origin).netloc != request.headers.get("host")
    except ValueError:
        return True


def _name(host: str) -> str:
    """The name in a Host header, without the port, as it is compared; all of it where it is no name and port."""
    match = _HOST.fullmatch(host)
    return _plain(match[1] if match else host)


def _plain(name: str) -> str:
    return name.strip("[]").rstrip(".").lower()
