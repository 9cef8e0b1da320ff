"""Access checks of the control address: the Host header, the Origin of the page, and the control token.

A browser sends requests of any page to this machine, but a page can't choose the headers that are checked here: after
DNS rebinding the Host header has the name of that page, and a page of another site has its own Origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from kohort.base.control_token import is_shown
from kohort.base.visible import visible
from kohort.control.http.routes.page_routes import is_page

LOOPBACK_NAME = "localhost"
EVERYWHERE = ("", "0.0.0.0", "::")
# a Host header as in RFC 9110, section 7.2: a name or a bracketed address, and a port
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][:/?#@\s]*)(?::\d*)?")


class Admission:
    """Check that rejects unauthorized requests to a control address."""

    def __init__(self, token: str = "", host: str = "127.0.0.1", names: Iterable[str] = ()) -> None:
        """Create a check.

        Args:
            token: Control token that requests must contain; an empty one disables the check.
            host: Address on which the server listens.
            names: Further host names of the server.
        """
        self._token = token
        self._names = {_plain(name) for name in (host, *names)}
        self._everywhere = host in EVERYWHERE

    def refusal(self, request: Request) -> Response | None:
        """Return the error response for a request, or None if the request is allowed."""
        host = _name(request.headers.get("host", ""))
        if not self._is_ours(host):
            return sentence(
                403,
                f"{host or 'no host'} is not a name of this control address; add a name with "
                "kohort serve --control-host NAME",
            )
        if _is_from_elsewhere(request):
            return sentence(403, "requests from pages of other sites are not allowed")
        if is_page(path_of(request)):
            return None  # the page contains no data of the broker, and prompts for the token
        if self._token and not is_shown(self._token, request.headers.get("authorization", "")):
            return sentence(401, "missing or wrong control token; send the header Authorization: Bearer TOKEN")
        return None

    def _is_ours(self, host: str) -> bool:
        if host in self._names or host == LOOPBACK_NAME:
            return True
        # unlike a name, an address can't be redirected by DNS, so any of this machine's is fine if all are bound
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return self._everywhere or address.is_loopback


def path_of(request: Request) -> str:
    """Return the path of a request. It isn't derived from the Host header, as `request.url` is."""
    return str(request.scope["path"])


def sentence(status: int, text: str) -> Response:
    """Return an error response. The text may contain characters that can't be encoded as UTF-8."""
    return JSONResponse({"detail": visible(text)}, status)


def _is_from_elsewhere(request: Request) -> bool:
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
    match = _HOST.fullmatch(host)
    return _plain(match[1] if match else host)


def _plain(name: str) -> str:
    return name.strip("[]").rstrip(".").lower()
