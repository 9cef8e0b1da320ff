"""Control address of a proxy: the laboratory's routes for faults and gates, and the read-only routes for groups."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request

from kohort.base.address import show_address
from kohort.broker.runtime.server import ListenError
from kohort.control.http.app import make_app
from kohort.control.http.listening import serve
from kohort.control.http.loopback import is_loopback
from kohort.control.http.routes import (
    events_routes,
    faults_routes,
    gates_routes,
    groups_routes,
    overview_routes,
    page_routes,
)
from kohort.control.http.routes.reset_routes import Left
from kohort.proxy.proxy_laboratory import ProxyLaboratory

router = APIRouter(prefix="/reset", tags=["reset"])


def _laboratory(request: Request) -> ProxyLaboratory:
    laboratory: ProxyLaboratory = request.app.state.laboratory
    return laboratory


@router.post("")
async def reset(laboratory: Annotated[ProxyLaboratory, Depends(_laboratory)]) -> Left:
    """End all rules and open all gates. Groups in the cluster stay, and a proxy collects no violations."""
    return Left(gates=laboratory.lift(), violations=[], groups=[])


ROUTERS = (
    faults_routes.router,
    gates_routes.router,
    groups_routes.reading,
    overview_routes.router,
    events_routes.router,
    page_routes.router,
    router,
)


def make_proxy_app(laboratory: ProxyLaboratory, token: str = "", host: str = "127.0.0.1") -> FastAPI:
    """Return the application; an empty `token` disables authentication."""
    return make_app(None, token, laboratory, host=host, routers=ROUTERS)


@asynccontextmanager
async def served(laboratory: ProxyLaboratory, host: str, port: int, token: str = "") -> AsyncIterator[str]:
    """Serve the application while entered; yield its address as HOST:PORT.

    Raises:
        ListenError: Also if other machines could reach it without a token.
    """
    if not token and not is_loopback(host):
        raise ListenError(
            f"every client that reaches {show_address(host, port)} could control this proxy; set a token with "
            "KOHORT_CONTROL_TOKEN, or listen on this machine alone, as in --control 127.0.0.1:9099"
        )
    async with serve(make_proxy_app(laboratory, token, host), host, port) as address:
        yield address
