"""The application: every subject's router, who is admitted, and errors as sentences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from kohort.broker.logs import log
from kohort.control.admission import Admission, path_of, sentence
from kohort.control.body import LARGEST_BYTES, knows_every_query
from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.documenting import BEARER, CANNOT_BE, NOT_ADMITTED, operation_id, refusals
from kohort.control.routes import (
    acls_routes,
    appends_routes,
    clock_routes,
    events_routes,
    faults_routes,
    gates_routes,
    groups_routes,
    leaders_routes,
    metrics_routes,
    nodes_routes,
    overview_routes,
    page_routes,
    reset_routes,
    shares_routes,
    streams_routes,
    topics_routes,
    violations_routes,
)

ROUTERS = (
    nodes_routes.router,
    leaders_routes.router,
    topics_routes.router,
    clock_routes.router,
    faults_routes.router,
    appends_routes.router,
    acls_routes.router,
    gates_routes.router,
    groups_routes.reading,
    groups_routes.router,
    shares_routes.router,
    streams_routes.router,
    violations_routes.router,
    overview_routes.router,
    reset_routes.router,
    events_routes.router,
    metrics_routes.router,
    page_routes.router,
)
"""One per subject: a new subject is a file in `routes/` and its name here."""


def make_app(
    server: object,
    token: str = "",
    laboratory: object = None,
    *,
    host: str = "127.0.0.1",
    names: Iterable[str] = (),
    routers: Iterable[APIRouter] = ROUTERS,
) -> FastAPI:
    """What is served at the control address, of a broker or (with some of the routers) of something else.

    `server`, `laboratory`: what the routers ask; of a broker a `Server` and a `Laboratory`. `token`: what clients must
    show; empty: nothing. `host`: where it listens. `names`: others that it is dialled by.
    """
    admission = Admission(token, host, names)
    app = FastAPI(
        title="kohort",
        description="Controls a running kohort: its nodes, leaders and topics, the brokers' clock, faults and gates; "
        "shows what happened to its groups.",
        version="1",
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(knows_every_query), *([Depends(BEARER)] if token else [])],
        responses=refusals(CANNOT_BE, *((NOT_ADMITTED,) if token else ())),
    )
    app.state.server = server
    app.state.laboratory = laboratory
    routers = tuple(routers)
    routes = [route for router in routers for route in router.routes]
    app.state.paths = sorted({route.path for route in routes if isinstance(route, APIRoute)})
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _no_such_place)
    app.add_exception_handler(NotFoundError, _not_there)
    app.add_exception_handler(ControlError, _cannot_be)
    app.add_exception_handler(Exception, _our_mistake)

    @app.middleware("http")
    async def admit(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        response = admission.refusal(request) or await _too_large(request) or await go_on(request)
        response.headers["X-Frame-Options"] = "DENY"  # a page of another site could let its reader click in ours
        return response

    return app


async def _too_large(request: Request) -> Response | None:
    """Reads the body, as far as it may go; what follows is given what was read."""
    said = request.headers.get("content-length", "0")
    size = int(said) if said.isdecimal() else 0
    read = bytearray()
    if size <= LARGEST_BYTES:
        async for chunk in request.stream():
            read += chunk
            if len(read) > LARGEST_BYTES:
                break
    if max(size, len(read)) > LARGEST_BYTES:
        return sentence(413, f"this is too large; a request has at most {LARGEST_BYTES} bytes")
    request._body = bytes(read)  # what `Request.body` keeps, and passes on
    return None


async def _no_such_place(request: Request, problem: Exception) -> Response:
    """A path or a method that nobody has, beside refusals that are sentences already."""
    assert isinstance(problem, HTTPException)
    sentences = {
        "Not Found": f"there is nothing at {path_of(request)}; /openapi.json lists what there is",
        "Method Not Allowed": f"{path_of(request)} is not asked with {request.method}; /openapi.json says how",
    }
    return JSONResponse(
        {"detail": sentences.get(problem.detail, problem.detail)}, problem.status_code, headers=problem.headers
    )


async def _unreadable(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    return sentence(422, "; ".join(map(_sentence, problem.errors())))


def _sentence(problem: dict[str, Any]) -> str:
    if problem["type"] == "json_invalid":
        return f"the body is not JSON: {problem['ctx']['error']}"
    if problem["type"] == "value_error":  # a sentence of ours
        return str(problem["msg"]).removeprefix("Value error, ")
    where = ".".join(map(str, problem["loc"][1:])) or problem["loc"][0]
    return f"{where}: {problem['msg']}"


async def _not_there(request: Request, problem: Exception) -> Response:
    return sentence(404, str(problem))


async def _cannot_be(request: Request, problem: Exception) -> Response:
    return sentence(422, str(problem))


async def _our_mistake(request: Request, problem: Exception) -> Response:
    log.error(f"control: {request.method} {path_of(request)} failed", problem)
    return sentence(500, "this is kohort's fault; its log says more")
