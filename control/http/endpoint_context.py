"""Dependencies of the endpoints, and their error responses."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from kohort.broker.cluster.node import Node
from kohort.broker.runtime.server import Server
from kohort.control.laboratory import Laboratory


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


def _laboratory(request: Request) -> Laboratory:
    laboratory: Laboratory | None = request.app.state.laboratory
    assert laboratory is not None, "a broker with a control address has a laboratory"
    return laboratory


TheLaboratory = Annotated[Laboratory, Depends(_laboratory)]
# Endpoints run in the broker's event loop (`async def`, not `def`), so nothing else happens while one decides.
TheServer = Annotated[Server, Depends(_server)]


def not_found(sentence: str) -> HTTPException:
    return HTTPException(404, sentence)


def refused(sentence: str) -> HTTPException:
    return HTTPException(422, sentence)


def the_node(server: Server, node_id: int) -> Node:
    """Return the node with an id, or respond with status 404."""
    node = server.cluster.node(node_id)
    if node is None:
        node_ids = ", ".join(str(other.id) for other in server.cluster.nodes)
        raise not_found(f"unknown node {node_id}; the nodes are {node_ids}")
    return node
