"""`/metrics` for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from kohort.control.http.endpoint_context import TheServer
from kohort.control.http.metrics import CONTENT_TYPE, Metrics

router = APIRouter(tags=["metrics"])


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}}
)
async def read(request: Request, server: TheServer) -> Response:
    """Return metrics of the groups of all nodes in Prometheus's text format."""
    kept = request.app.state
    if not hasattr(kept, "metrics"):
        kept.metrics = Metrics(server.cluster)
    return Response(kept.metrics.text(), media_type=CONTENT_TYPE)
