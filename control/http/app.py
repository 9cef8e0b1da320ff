"""HTTP application of the control address: routers, access checks, and error responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from kohort.base.logs import log
from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.http.admission import Admission, path_of, sentence
from kohort.control.http.body import MAX_BODY_BYTES, reject_unknown_queries
from kohort.control.http.documenting import BEARER, CANNOT_BE, NOT_ADMITTED, operation_id, refusals
from kohort.control.http.routes import (
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
)  # one per subject: a new subject is a file in `routes/` and an entry here


def make_app(
    server: object,
    token: str = "",
    laboratory: object = None,
    *,
    host: str = "127.0.0.1",
    names: Iterable[str] = (),
    routers: Iterable[APIRouter] = ROUTERS,
) -> FastAPI:
    """Return the application that serves the control address of a broker, or with some of the routers, of a proxy.

    Args:
        server: The object that the routers use; a `Server` in a broker.
        token: Control token that requests must contain; an empty one disables the check.
        laboratory: The object that the routers use; a `Laboratory` in a broker.
        host: Address on which the application is served.
        names: Further host names of the server.
    """
    admission = Admission(token, host, names)
    app = FastAPI(
        title="kohort",
        description="Controls a running kohort: its nodes, leaders and topics, the brokers' clock, faults and gates; "
        "shows what happened to its groups.",
        version="1",
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(reject_unknown_queries), *([Depends(BEARER)] if token else [])],
        responses=refusals(CANNOT_BE, *((NOT_ADMITTED,) if token else ())),
    )
    app.state.server = server
    app.state.laboratory = laboratory
    routers = tuple(routers)
    routes = [route for router in routers for route in router.routes]
    app.state.paths = sorted({route.path for route in routes if isinstance(route, APIRoute)})
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(NotFoundError, _on_not_found)
    app.add_exception_handler(ControlError, _on_control_error)
    app.add_exception_handler(Exception, _on_unexpected_error)

    @app.middleware("http")
    async def admit(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = admission.refusal(request) or await _reject_large_body(request) or await call_next(request)
        response.headers["X-Frame-Options"] = "DENY"  # prevents clickjacking by pages of other sites
        return response

    return app


async def _reject_large_body(request: Request) -> Response | None:
    """Read the body up to the limit, and return an error response if it is larger.

    Later readers get the stored body.
    """
    content_length = request.headers.get("content-length", "0")
    size = int(content_length) if content_length.isdecimal() else 0
    read = bytearray()
    if size <= MAX_BODY_BYTES:
        async for chunk in request.stream():
            read += chunk
            if len(read) > MAX_BODY_BYTES:
                break
    if max(size, len(read)) > MAX_BODY_BYTES:
        return sentence(413, f"request too large; the limit is {MAX_BODY_BYTES} bytes")
    request._body = bytes(read)  # the cache of `Request.body`
    return None


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        "Not Found": f"unknown path {path_of(request)}; see /openapi.json for all paths",
        "Method Not Allowed": f"{path_of(request)} does not support {request.method}; see /openapi.json",
    }
    return JSONResponse({"detail": sentences.get(error.detail, error.detail)}, error.status_code, headers=error.headers)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return sentence(422, "; ".join(map(_sentence, error.errors())))


def _sentence(error: dict[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}"
    if error["type"] == "value_error":  # raised by our own validators
        return str(error["msg"]).removeprefix("Value error, ")
    location = ".".join(map(str, error["loc"][1:])) or error["loc"][0]
    return f"{location}: {error['msg']}"


async def _on_not_found(request: Request, error: Exception) -> Response:
    return sentence(404, str(error))


async def _on_control_error(request: Request, error: Exception) -> Response:
    return sentence(422, str(error))


async def _on_unexpected_error(request: Request, error: Exception) -> Response:
    log.error(f"control: {request.method} {path_of(request)} failed", error)
    return sentence(500, "internal error; see kohort's log")
