"""Nodes of the cluster, and stopping and starting one of them."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.broker.cluster.node import Node
from kohort.broker.runtime.server import ListenError
from kohort.control.http.documenting import NOT_THERE, refusals
from kohort.control.http.endpoint_context import TheServer, refused, the_node
from kohort.control.http.views import view

router = APIRouter(prefix="/nodes", tags=["nodes"])


class NodeState(BaseModel):
    """One node of the cluster."""

    id: int
    port: int = Field(description="port on which it listens; a stopped node keeps its port")
    running: bool
    partitions: int = Field(description="number of partitions that it leads")
    groups: int = Field(description="number of groups that it coordinates")


@router.get("")
async def list_nodes(server: TheServer) -> list[NodeState]:
    """List all nodes, including those that are stopped."""
    return [_state(node) for node in server.cluster.nodes]


@router.post("/{node_id}/stop", responses=refusals(NOT_THERE))
async def stop_node(node_id: int, server: TheServer) -> NodeState:
    """Stop a node and close its connections and its port.

    Other nodes with replicas become the leaders of its partitions.
    """
    node = the_node(server, node_id)
    if not node.running:
        raise refused(f"node {node_id} is stopped already")
    server.stop_node(node)
    return _state(node)


@router.post("/{node_id}/start", responses=refusals(NOT_THERE))
async def start_node(node_id: int, server: TheServer) -> NodeState:
    """Start a stopped node on its previous port."""
    node = the_node(server, node_id)
    if node.running:
        raise refused(f"node {node_id} runs already")
    try:
        await server.start_node(node)
    except ListenError as error:
        raise refused(f"node {node_id} cannot start: {error}") from error
    return _state(node)


def _state(node: Node) -> NodeState:
    led = sum(partition.leader == node.id for topic in node.cluster.topics for partition in topic.partitions)
    groups = len(node.coordinator.groups)
    return view(NodeState, node, partitions=led, groups=groups)
