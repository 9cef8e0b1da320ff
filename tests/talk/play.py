"""Plays a conversation, and reports differences in the broker's responses."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from kohort.broker.cluster.moving import move_leader
from kohort.broker.cluster.node import Node
from kohort.client.client_connection import BrokerError
from kohort.control.request_facts import kafka_name
from kohort.coordinator.groups.group_placement import partition_for
from kohort.protocol.releases import CURRENT
from kohort.proxy.talk.answer_comparing import differences
from kohort.proxy.talk.player import Player
from kohort.proxy.talk.talk_connection import SentRequest, TalkConnection
from kohort.proxy.talk.talk_lines import ANSWER, Step, read_client
from tests.talk.compare import Names, WrittenExpectations
from tests.talk.consumer_groups import HEARTBEATS, TELLS_SHARES, brief, heartbeat_of, remember, share_a_group, unsaid
from tests.talk.journal import READ_BY, in_order
from tests.talk.messages import WRITTEN_TEXTS, WrongBytes, api_name, read_answer, write_raw_request
from tests.talk.profiles import PROFILES
from tests.talk.requests import complete
from tests.talk.script import Conversation, ScriptError
from tests.talk.stage import FIRST_PORT, Stage, run
from tests.talk.values import Value, fill, show

PATIENCE_MS = 1_500  # maximum time of a response without a time in the conversation; most take no time here

EVENTUALLY_MS = 20_000
ASK_AGAIN_MS = 100
MADE_UP = re.compile(r"\$\{?((?:group|topic|txn)[0-9a-z]*)\b")
FIRST_NODE = 1
MARK = "of-this-talk"  # suffix of generated names
STAGEHAND = "stagehand"


class Differs(Exception):
    """The broker's behaviour differs from the conversation; one line for each difference."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def play(
    conversation: Conversation, data_dir: Path | None = None, *, moving: bool = False, release: str = CURRENT
) -> str:
    """Play a conversation with a broker that emulates a release.

    Args:
        data_dir: Directory of the broker's logs, or None for memory.
        moving: Before each step move the coordinators, if the log contains the complete state of the groups.

    Returns:
        The differences with the conversation up to there; empty without differences.
    """
    stage = Stage(PROFILES[conversation.profile], conversation.warm, data_dir, release)
    player = WrittenPlayer(stage)
    lines = [f"{conversation.path}: {conversation.title}"]
    try:
        for step in conversation.steps:
            indent = "  " if step.text.startswith("<-") else ""
            lines.append(f"{stage.clock.now_ms():>8} ms {step.number:>4}  {indent}{step.text}")
            if moving and player.has_all_responses and stage.would_survive:
                stage.move_coordinators()
            run(player.take(step))
            lines += [f"{'':>17}  ({text})" for text in player.notes()]
        player.nothing_left_over()
    except Differs as difference:
        lines += [f"{'':>17}  ({text})" for text in player.notes()]
        return "\n".join(lines) + "".join(f"\n>>> {line}" for line in difference.lines)
    except ValueError as problem:
        raise ScriptError(f"{conversation.path}:{step.number}: {problem}") from problem
    finally:
        stage.close()
    return ""


class WrittenPlayer(Player):
    """All clients of one conversation of a test. It never suspends, see `run`."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(WRITTEN_TEXTS)
        self.stage = stage
        self.names: Names = {"host": "127.0.0.1", "port": FIRST_PORT, "node": FIRST_NODE, "mark": MARK}
        self._logged: list[str] = []
        self._read: dict[str, Value] = {}  # records that were read from a group's log and are not compared yet
        self._version = 0  # version of the last response
        self._read_until: dict[tuple[str, str, str], Value] = {}

    async def take(self, step: Step) -> None:
        """Run a step.

        Raises:
            Differs: The broker's behaviour differs.
        """
        await super().take(step)
        self.stage.loop.settle()
        for level, text in self.stage.log_lines():
            self._logged.append(text)
            if level == "error":
                raise Differs(f"the broker logged an error: {text}")

    def nothing_left_over(self) -> None:
        """Raise Differs if a client has received something that the conversation does not contain."""
        for speaker, connection in self._connections.items():
            if connection.frames:
                raise Differs(f"at the end {speaker} has a response that the conversation does not expect")

    @property
    def has_all_responses(self) -> bool:
        """Whether all responses have been received and compared."""
        return not any(connection.pending for connection in self._connections.values())

    def notes(self) -> list[str]:
        """Return what the broker has logged since the last call: transitions, closed connections."""
        logged, self._logged = self._logged, []
        return logged

    # Speaking

    async def _request(self, step: Step) -> None:
        await self._send_completed(step.speaker, step.words["api"], int(step.words["version"]), step.values)

    async def _joins(self, step: Step) -> None:
        await self._join(step.speaker, step.read_number("version", 9) or 0, self._fill(step.values))

    async def _beats(self, step: Step) -> None:
        await self._send_completed(
            step.speaker, *heartbeat_of(step.words.get("of", "consumer"), step.read_number("version")), step.values
        )

    async def _leaves(self, step: Step) -> None:
        await self._send_completed(step.speaker, *heartbeat_of("consumer", None), {"epoch": -1} | step.values)

    async def _reads(self, step: Step) -> None:
        self._make_up_names(step.words["of"])
        group = fill(step.words["of"], self.names)
        key, read = (step.speaker, step.words["what"], group), READ_BY[step.words["what"]]
        records, self._read_until[key] = read(self.stage.server.cluster, group, self._read_until.get(key, 0))
        await self.connection(step.speaker)
        people = {bound: name for name, bound in self.names.items() if isinstance(bound, str)}
        self._read[step.speaker] = {"records": brief(in_order(records, people), self.names)}

    async def _sends(self, step: Step) -> None:
        connection = await self.connection(step.speaker)
        correlation_id = connection.pending.next_correlation_id()
        if "bytes" in step.words:
            frame = bytes.fromhex(step.words["bytes"])
        else:
            frame, correlation_id = write_raw_request(self._fill(step.values), connection.client_id, correlation_id)
        connection.pending.add(correlation_id, SentRequest(self.stage.now_ms()))
        connection.send_bytes(frame)

    async def _connects(self, step: Step) -> None:
        port = await self._find(step.words["where"]) if "where" in step.words else FIRST_PORT
        await self._disconnects(step)
        if "client" in step.words:
            self._client_ids[step.client] = read_client(step.words["client"])
        self._connections[step.speaker] = self._connect(step.speaker, port)

    async def _stops(self, step: Step) -> None:
        self.stage.server.stop_node(self._node(step))

    async def _starts(self, step: Step) -> None:
        self.stage.server.node_started(self._node(step))

    async def _restarts(self, step: Step) -> None:
        setting = step.words.get("setting")
        self.stage.restart({} if setting is None else {setting: step.words["value"]})
        self._connections.clear()

    async def _leads(self, step: Step) -> None:
        self._make_up_names(step.text)
        cluster, node = self.stage.server.cluster, self._node(step)
        topic = cluster.topics.by_name(fill(step.words["topic"], self.names))
        partition = topic.partition(int(fill(step.words["partition"], self.names))) if topic is not None else None
        if topic is None or partition is None:
            raise ValueError(f"there is no {step.words['topic']} partition {step.words['partition']}")
        self.stage.server.act(partial(move_leader, cluster, topic, partition, node.id))

    def _node(self, step: Step) -> Node:
        node = self.stage.server.cluster.node(int(fill(step.words["node"], self.names)))
        if node is None:
            raise ValueError(f"unknown broker {step.words['node']}")
        return node

    async def _wait(self, step: Step) -> None:
        self.stage.loop.advance(int(step.words["length"]))

    # Responses

    async def _silence(self, step: Step) -> None:
        connection = self._connections[step.speaker]
        length_ms, since_ms = int(step.words["length"]), self.stage.now_ms()
        await self.stage.wait(length_ms, lambda: bool(connection.frames or connection.is_closed))
        if connection.is_closed:
            raise Differs(f"expected silence for {length_ms} ms, but the broker closed the connection")
        if connection.frames:
            after_ms = max(0, connection.frames[0][0] - since_ms)
            api, response, _ = await self._receive(step)
            raise Differs(f"expected silence for {length_ms} ms, received {api} {show(response)} after {after_ms} ms")

    async def _closed(self, step: Step) -> None:
        connection = self._connections.pop(step.speaker)
        if connection.frames:
            raise Differs(f"expected the connection to be closed, received {connection.frames[0][1].hex()}")
        if not connection.is_closed:
            raise Differs("expected the connection to be closed, received nothing")

    async def _answer(self, step: Step) -> None:
        give_up_ms = self.stage.now_ms() + EVENTUALLY_MS
        while True:
            request = self._connections[step.speaker].pending.oldest
            api, response, took_ms = await self._receive(step)
            problems = self._judge(step, api, response)
            if not problems or "eventually" not in step.words or self.stage.now_ms() > give_up_ms:
                break
            self.stage.loop.advance(ASK_AGAIN_MS)
            assert request
            await self._send_completed(step.speaker, kafka_name(request.api), request.version, request.values)
        least, most = step.read_number("least"), step.read_number("most")
        if least is not None and most is not None and not least <= took_ms <= most:
            problems.insert(0, f"expected the response between {least} and {most} ms, it took {took_ms} ms")
        if problems:
            raise Differs(*problems)

    def _judge(self, step: Step, api: str, response: Value) -> list[str]:
        values = unsaid(api, self._version, self._with_error(step, response), step.client, self.stage.release)
        expected: Value = {"throttle_time_ms": 0} if "throttle_time_ms" in response else {}
        if "error_code" in response:
            expected["error_code"] = step.words.get("error", "NONE")
        elif "error" in step.words:
            return [f"expected {step.words['error']}, but the response has no error"]
        return differences(api, expected | values, response, WrittenExpectations(self.names))

    def _with_error(self, step: Step, response: Value) -> Value:
        """Return the values of a step, with the error that it names."""
        error = step.words.get("error")
        return step.values if error is None or "error_code" not in response else {"error_code": error} | step.values

    async def _receive(self, step: Step) -> tuple[str, Value, int]:
        """Return the next response: its API, its fields, and how long it took."""
        if step.speaker in self._read:
            return "GroupLog", self._read.pop(step.speaker), 0
        connection = self._connections[step.speaker]
        if not connection.pending:
            raise Differs(f"{step.speaker} has no pending request")
        patience_ms = max(PATIENCE_MS, (step.read_number("most") or 0) + 1_000)
        try:
            request = await connection.receive(patience_ms)
        except BrokerError as error:
            raise Differs(str(error)) from error
        if request is None or request.response is None:
            raise Differs(f"no response within {patience_ms} ms")
        api, version = step.words.get("api", kafka_name(request.api)), step.read_number("version", request.version)
        assert version is not None
        self._version = version
        try:
            response = read_answer(api, version, request.response)
        except WrongBytes as problem:
            raise Differs(str(problem)) from problem
        if api == "ListGroups":  # as in a recording, where others have groups too
            response["groups"] = [group for group in response["groups"] if group["group_id"] in self.names.values()]
        if api in HEARTBEATS:
            remember(response, self.names, step.client)
            self.stage.loop.advance(1)  # work next to heartbeats is complete before the next heartbeat
        if api in TELLS_SHARES:
            response = brief(response, self.names)
        return api, response, request.took_ms

    # Given

    async def _topic(self, step: Step) -> None:
        name = step.words["topic"]
        self._make_up_names(f"${name}")
        topic = {
            "name": self.names[name],
            "num_partitions": step.read_number("partitions", 1),
            "replication_factor": step.read_number("replicas", 1),
        }
        created = await self._call(STAGEHAND, "CreateTopics", 5, {"topics": [topic]})
        if created["topics"][0]["error_code"] not in ("NONE", "TOPIC_ALREADY_EXISTS"):
            raise Differs(f"cannot create a topic: {show(created)}")
        request = {"topics": [{"name": topic["name"]}], "allow_auto_topic_creation": False}
        metadata = (await self._call(STAGEHAND, "Metadata", 10, request))["topics"][0]
        if metadata["error_code"] != "NONE" or len(metadata["partitions"]) != topic["num_partitions"]:
            raise Differs(f"the topic that was created is not there: {show(metadata)}")
        self.names[f"{name}_id"] = metadata["topic_id"]

    async def _group(self, step: Step) -> None:
        people = step.words["members"].split(", ")
        options = self._fill(step.values)
        shares = options.pop("shares", {})
        own = {person: options.pop(person, {}) for person in people}
        joins = {person: options | own[person] for person in people}
        answers: dict[str, Value] = {}
        for number, person in enumerate(people, start=1):
            await self._join(person, 9, joins[person])
            for other in people[: number - 1]:
                await self._send_completed(other, "JoinGroup", 9, joins[other])
            for other in people[:number]:
                answers[other] = await self._receive_success(other)
                self.names[other] = answers[other]["member_id"]
        generation = answers[people[0]]["generation_id"]
        self.names["generation"] = generation
        leader = next(person for person in people if answers[person]["leader"] == self.names[person])
        assignments = {self.names[person]: shares.get(person, f"for-{person}") for person in people}
        for person in [*(item for item in people if item != leader), leader]:
            sync = {key: joins[person][key] for key in ("group_id", "group_instance_id") if key in joins[person]}
            sync |= {key: answers[person][key] for key in ("protocol_type", "protocol_name")}
            sync |= {"generation_id": generation, "assignments": assignments if person == leader else {}}
            await self._send_completed(person, "SyncGroup", 5, sync)
        for person in people:
            await self._receive_success(person)

    async def _members(self, step: Step) -> None:
        people = step.words["members"].split(", ")
        options = self._fill(step.values)
        own = {person: options.pop(person, {}) for person in people}
        ways = self._call, self.names, self.stage.loop.advance
        if problem := await share_a_group(step.words["of"], ways, people, options, own):
            raise Differs(problem)

    async def _receive_success(self, speaker: str) -> Value:
        _, response, _ = await self._receive(Step(ANSWER, speaker))
        if response["error_code"] != "NONE":
            raise Differs(f"{speaker} receives {response['error_code']} while the group is set up")
        return response

    # Underneath

    async def _join(self, speaker: str, version: int, values: Value) -> None:
        """Join, in two steps if a member id is needed first (KIP-394). The response is not read."""
        person = speaker.partition("/")[0]
        if version >= 4 and values.get("group_instance_id") is None and "member_id" not in values:
            response = await self._call(speaker, "JoinGroup", version, values | {"member_id": ""})
            if response["error_code"] != "MEMBER_ID_REQUIRED":
                raise Differs(f"{speaker} requests a member id and receives {response['error_code']}")
            self.names[person] = response["member_id"]
            values = values | {"member_id": response["member_id"]}
        await self._send_completed(speaker, "JoinGroup", version, {"member_id": ""} | values)

    async def _send_completed(self, speaker: str, api: str, version: int, values: Value) -> None:
        completed = complete(api, version, self._fill(values), self.names, speaker.partition("/")[0])
        request = await self._send(speaker, api_name(api), version, self._fill(completed))
        request.values = values

    async def _call(self, speaker: str, api: str, version: int, values: Value) -> Value:
        """Send a request and return the response."""
        await self._send_completed(speaker, api, version, values)
        return (await self._receive(Step(ANSWER, speaker)))[1]

    async def _open(self, speaker: str) -> TalkConnection:
        first = self._connections.get(speaker.partition("/")[0])
        return self._connect(speaker, first.address[1] if first else FIRST_PORT)

    def _connect(self, speaker: str, port: int) -> TalkConnection:
        person = speaker.partition("/")[0]
        return self.stage.connect(port, self._client_ids.get(person, person))

    async def _find(self, where: str) -> int:
        """Return the port of a node, such as `the coordinator of $group` or `the leader of $topic partition 0`."""
        self._make_up_names(where)
        words = fill(where, self.names).removeprefix("another broker than ").split()
        ports = {node["node_id"]: node["port"] for node in (await self._metadata([]))["brokers"]}
        match words:
            case ["the", "coordinator", "of", group]:
                node_id = (await self._call(STAGEHAND, "FindCoordinator", 3, {"key": group}))["node_id"]
            case ["the", "leader", "of", topic, "partition", number]:
                partitions = (await self._metadata([{"name": topic}]))["topics"][0]["partitions"]
                node_id = next(
                    partition["leader_id"] for partition in partitions if partition["partition_index"] == int(number)
                )
            case ["broker", number]:
                node_id = int(number)
            case _:
                raise ValueError(f"who is {where!r}?")
        if where.startswith("another broker than "):
            node_id = next(other for other in sorted(ports) if other != node_id)
        return int(ports[node_id])

    async def _metadata(self, topics: Value) -> Value:
        return await self._call(STAGEHAND, "Metadata", 1, {"topics": topics})

    def _fill(self, values: Value) -> Value:
        self._make_up_names("$group" + show(values))
        return fill(values, self.names)

    def _make_up_names(self, text: str) -> None:
        for name in MADE_UP.findall(text):
            if name not in self.names:
                self.names[name] = f"{name}-{MARK}"
                self.names[f"{name}_partition"] = partition_for(self.names[name], 50)
