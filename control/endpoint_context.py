"""What every endpoint is given, and how it refuses."""

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
    assert laboratory is not None, "a broker with a control address has one"
    return laboratory


TheLaboratory = Annotated[Laboratory, Depends(_laboratory)]
"""Its clock, its faults and gates, and what it has recorded."""
TheServer = Annotated[Server, Depends(_server)]
"""The broker. Endpoints run in its event loop (`async def`, not `def`): nothing else happens while one decides."""


def not_found(sentence: str) -> HTTPException:
    """What is asked for does not exist."""
    return HTTPException(404, sentence)


def refused(sentence: str) -> HTTPException:
    """What is asked for cannot be done."""
    return HTTPException(422, sentence)


def the_node(server: Server, node_id: int) -> Node:
    """The node of that id, or 404."""
    node = server.cluster.node(node_id)
    if node is None:
        there = ", ".join(str(each.id) for each in server.cluster.nodes)
        raise not_found(f"there is no node {node_id}; there are {there}")
    return node
