"""Plays a conversation, and reports differences in the broker's responses."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from kohort.broker.cluster.moving import move_leader
from kohort.broker.cluster.node import Node
from kohort.coordinator.groups.group_placement import partition_for
from kohort.protocol.releases import CURRENT
from kohort.proxy.talk.answer_comparing import differences
from kohort.proxy.talk.request_queue import UnexpectedResponse
from kohort.proxy.talk.talk_lines import ANSWER, Step, read_client
from tests.talk.compare import Names, WrittenExpectations
from tests.talk.consumer_groups import HEARTBEATS, TELLS_SHARES, brief, heartbeat_of, remember, share_a_group, unsaid
from tests.talk.journal import READ_BY, in_order
from tests.talk.messages import (
    WrongBytes,
    read_answer,
    write_raw_request,
    write_request,
)
from tests.talk.profiles import PROFILES
from tests.talk.requests import complete
from tests.talk.script import Conversation, ScriptError
from tests.talk.stage import FIRST_PORT, Line, SentRequest, Stage
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
    player = Player(stage)
    lines = [f"{conversation.path}: {conversation.title}"]
    try:
        for step in conversation.steps:
            indent = "  " if step.text.startswith("<-") else ""
            lines.append(f"{stage.clock.now_ms():>8} ms {step.number:>4}  {indent}{step.text}")
            if moving and player.has_all_responses and stage.would_survive:
                stage.move_coordinators()
            player.take(step)
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


class Player:
    """All clients of one conversation."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.names: Names = {"host": "127.0.0.1", "port": FIRST_PORT, "node": FIRST_NODE, "mark": MARK}
        self._lines: dict[str, Line] = {}
        self._client_ids: dict[str, str | None] = {}
        self._logged: list[str] = []
        self._read: dict[str, Value] = {}  # records that were read from a group's log and are not compared yet
        self._version = 0  # version of the last response
        self._read_until: dict[tuple[str, str, str], Value] = {}

    def take(self, step: Step) -> None:
        """Run a step.

        Raises:
            Differs: The broker's behaviour differs.
        """
        getattr(self, "_" + step.kind)(step)
        self._listen_to_the_log()

    def nothing_left_over(self) -> None:
        """Raise Differs if a client has received something that the conversation does not contain."""
        for speaker, line in self._lines.items():
            if line.frames:
                raise Differs(f"at the end {speaker} has an answer that the conversation does not expect")

    @property
    def has_all_responses(self) -> bool:
        """Whether all responses have been received and compared."""
        return not any(line.pending for line in self._lines.values())

    def notes(self) -> list[str]:
        """Return what the broker has logged since the last call: transitions, closed connections."""
        logged, self._logged = self._logged, []
        return logged

    def _listen_to_the_log(self) -> None:
        for level, text in self.stage.log_lines():
            self._logged.append(text)
            if level == "error":
                raise Differs(f"the broker logged an error: {text}")

    # Speaking

    def _request(self, step: Step) -> None:
        self._ask(step.speaker, step.words["api"], int(step.words["version"]), step.values)

    def _joins(self, step: Step) -> None:
        self._join(step.speaker, step.read_number("version", 9) or 0, self._fill(step.values))

    def _beats(self, step: Step) -> None:
        self._ask(
            step.speaker, *heartbeat_of(step.words.get("of", "consumer"), step.read_number("version")), step.values
        )

    def _leaves(self, step: Step) -> None:
        self._ask(step.speaker, *heartbeat_of("consumer", None), {"epoch": -1} | step.values)

    def _reads(self, step: Step) -> None:
        self._make_up_names(step.words["of"])
        group = fill(step.words["of"], self.names)
        key, read = (step.speaker, step.words["what"], group), READ_BY[step.words["what"]]
        records, self._read_until[key] = read(self.stage.server.cluster, group, self._read_until.get(key, 0))
        self._line(step.speaker)
        people = {bound: name for name, bound in self.names.items() if isinstance(bound, str)}
        self._read[step.speaker] = {"records": brief(in_order(records, people), self.names)}

    def _sends(self, step: Step) -> None:
        line = self._line(step.speaker)
        correlation_id = line.pending.next_correlation_id()
        if "bytes" in step.words:
            frame = bytes.fromhex(step.words["bytes"])
        else:
            frame, correlation_id = write_raw_request(self._fill(step.values), line.client_id, correlation_id)
        line.pending.add(correlation_id, SentRequest(self.stage.clock.now_ms()))
        line.say(frame)

    def _connects(self, step: Step) -> None:
        port = self._find(step.words["where"]) if "where" in step.words else FIRST_PORT
        self._disconnects(step)
        if "client" in step.words:
            self._client_ids[step.client] = read_client(step.words["client"])
        self._connect(step.speaker, port)

    def _stops(self, step: Step) -> None:
        self.stage.server.stop_node(self._node(step))
        self.stage.loop.settle()

    def _starts(self, step: Step) -> None:
        self.stage.server.node_started(self._node(step))
        self.stage.loop.settle()

    def _restarts(self, step: Step) -> None:
        setting = step.words.get("setting")
        self.stage.restart({} if setting is None else {setting: step.words["value"]})
        self._lines.clear()

    def _leads(self, step: Step) -> None:
        self._make_up_names(step.text)
        cluster, node = self.stage.server.cluster, self._node(step)
        topic = cluster.topics.by_name(fill(step.words["topic"], self.names))
        partition = topic.partition(int(fill(step.words["partition"], self.names))) if topic is not None else None
        if topic is None or partition is None:
            raise ValueError(f"there is no {step.words['topic']} partition {step.words['partition']}")
        self.stage.server.act(partial(move_leader, cluster, topic, partition, node.id))
        self.stage.loop.settle()

    def _node(self, step: Step) -> Node:
        node = self.stage.server.cluster.node(int(fill(step.words["node"], self.names)))
        if node is None:
            raise ValueError(f"unknown broker {step.words['node']}")
        return node

    def _disconnects(self, step: Step) -> None:
        line = self._lines.pop(step.speaker, None)
        if line is not None:
            line.hang_up()

    def _wait(self, step: Step) -> None:
        self.stage.loop.advance(int(step.words["length"]))

    # Responses

    def _silence(self, step: Step) -> None:
        line = self._lines[step.speaker]
        length_ms = int(step.words["length"])
        since_ms = self.stage.clock.now_ms()
        self.stage.loop.advance(length_ms, lambda: bool(line.frames or line.closed))
        if line.closed:
            raise Differs(f"expected silence for {length_ms} ms, but the broker hung up")
        if line.frames:
            after_ms = max(0, line.frames[0][0] - since_ms)
            api, response, _ = self._receive(step, line)
            raise Differs(f"expected silence for {length_ms} ms, received {api} {show(response)} after {after_ms} ms")

    def _closed(self, step: Step) -> None:
        line = self._lines.pop(step.speaker)
        if line.frames:
            raise Differs(f"expected the connection to be closed, received {line.frames[0][1].hex()}")
        if not line.closed:
            raise Differs("expected the connection to be closed, received nothing")

    def _answer(self, step: Step) -> None:
        line = self._lines[step.speaker]
        give_up_ms = self.stage.clock.now_ms() + EVENTUALLY_MS
        while True:
            sent_request = line.pending.oldest
            api, response, took_ms = self._receive(step, line)
            problems = self._judge(step, api, response)
            if not problems or "eventually" not in step.words or self.stage.clock.now_ms() > give_up_ms:
                break
            self.stage.loop.advance(ASK_AGAIN_MS)
            assert sent_request
            self._ask(step.speaker, sent_request.api, sent_request.version, sent_request.values)
        least, most = step.read_number("least"), step.read_number("most")
        if least is not None and most is not None and not least <= took_ms <= most:
            problems.insert(0, f"expected the answer between {least} and {most} ms, it took {took_ms} ms")
        if problems:
            raise Differs(*problems)

    def _judge(self, step: Step, api: str, response: Value) -> list[str]:
        values = unsaid(api, self._version, self._with_error(step, response), step.client, self.stage.release)
        expected: Value = {"throttle_time_ms": 0} if "throttle_time_ms" in response else {}
        if "error_code" in response:
            expected["error_code"] = step.words.get("error", "NONE")
        elif "error" in step.words:
            return [f"expected {step.words['error']}, but the answer has no error"]
        return differences(api, expected | values, response, WrittenExpectations(self.names))

    def _with_error(self, step: Step, response: Value) -> Value:
        """Return the values of a step, with the error that it names."""
        error = step.words.get("error")
        return step.values if error is None or "error_code" not in response else {"error_code": error} | step.values

    def _receive(self, step: Step, line: Line) -> tuple[str, Value, int]:
        """Return the next response: its API, its fields, and how long it took."""
        if step.speaker in self._read:
            return "GroupLog", self._read.pop(step.speaker), 0
        if not line.pending:
            raise Differs(f"{step.speaker} has not asked anything that is still to be answered")
        patience_ms = max(PATIENCE_MS, (step.read_number("most") or 0) + 1_000)
        self.stage.loop.advance(patience_ms, lambda: bool(line.frames or line.closed))
        if not line.frames:
            raise Differs("the broker hung up" if line.closed else f"no answer within {patience_ms} ms")
        at_ms, frame = line.frames.popleft()
        try:
            request = line.pending.take(frame)
        except UnexpectedResponse as error:
            raise Differs(str(error)) from error
        api, version = step.words.get("api", request.api), step.read_number("version", request.version)
        assert version is not None
        self._version = version
        try:
            response = read_answer(api, version, frame)
        except WrongBytes as problem:
            raise Differs(str(problem)) from problem
        if api == "ListGroups":  # as in a recording, where others have groups too
            response["groups"] = [group for group in response["groups"] if group["group_id"] in self.names.values()]
        if api in HEARTBEATS:
            remember(response, self.names, step.client)
            self.stage.loop.advance(1)  # work next to heartbeats is complete before the next heartbeat
        if api in TELLS_SHARES:
            response = brief(response, self.names)
        return api, response, at_ms - request.sent_at_ms

    # Given

    def _topic(self, step: Step) -> None:
        name = step.words["topic"]
        self._make_up_names(f"${name}")
        topic = {
            "name": self.names[name],
            "num_partitions": step.read_number("partitions", 1),
            "replication_factor": step.read_number("replicas", 1),
        }
        created = self.call(STAGEHAND, "CreateTopics", 5, {"topics": [topic]})
        if created["topics"][0]["error_code"] not in ("NONE", "TOPIC_ALREADY_EXISTS"):
            raise Differs(f"cannot create a topic: {show(created)}")
        request = {"topics": [{"name": topic["name"]}], "allow_auto_topic_creation": False}
        metadata = self.call(STAGEHAND, "Metadata", 10, request)["topics"][0]
        if metadata["error_code"] != "NONE" or len(metadata["partitions"]) != topic["num_partitions"]:
            raise Differs(f"the topic that was created is not there: {show(metadata)}")
        self.names[f"{name}_id"] = metadata["topic_id"]

    def _group(self, step: Step) -> None:
        people = step.words["members"].split(", ")
        options = self._fill(step.values)
        shares = options.pop("shares", {})
        own = {person: options.pop(person, {}) for person in people}
        joins = {person: options | own[person] for person in people}
        answers: dict[str, Value] = {}
        for number, person in enumerate(people, start=1):
            self._join(person, 9, joins[person])
            for other in people[: number - 1]:
                self._ask(other, "JoinGroup", 9, joins[other])
            for other in people[:number]:
                answers[other] = self._receive_success(step, other)
                self.names[other] = answers[other]["member_id"]
        generation = answers[people[0]]["generation_id"]
        self.names["generation"] = generation
        leader = next(person for person in people if answers[person]["leader"] == self.names[person])
        assignments = {self.names[person]: shares.get(person, f"for-{person}") for person in people}
        for person in [*(item for item in people if item != leader), leader]:
            sync = {key: joins[person][key] for key in ("group_id", "group_instance_id") if key in joins[person]}
            sync |= {key: answers[person][key] for key in ("protocol_type", "protocol_name")}
            sync |= {"generation_id": generation, "assignments": assignments if person == leader else {}}
            self._ask(person, "SyncGroup", 5, sync)
        for person in people:
            self._receive_success(step, person)

    def _members(self, step: Step) -> None:
        people = step.words["members"].split(", ")
        options = self._fill(step.values)
        own = {person: options.pop(person, {}) for person in people}
        ways = self.call, self.names, self.stage.loop.advance
        if problem := share_a_group(step.words["of"], ways, people, options, own):
            raise Differs(problem)

    def _receive_success(self, step: Step, speaker: str) -> Value:
        _, response, _ = self._receive(step, self._lines[speaker])
        if response["error_code"] != "NONE":
            raise Differs(f"{speaker} receives {response['error_code']} while the group is set up")
        return response

    # Underneath

    def _join(self, speaker: str, version: int, values: Value) -> None:
        """Join, in two steps if a member id is needed first (KIP-394). The response is not read."""
        person = speaker.partition("/")[0]
        if version >= 4 and values.get("group_instance_id") is None and "member_id" not in values:
            response = self.call(speaker, "JoinGroup", version, values | {"member_id": ""})
            if response["error_code"] != "MEMBER_ID_REQUIRED":
                raise Differs(f"{speaker} requests a member id and receives {response['error_code']}")
            self.names[person] = response["member_id"]
            values = values | {"member_id": response["member_id"]}
        self._ask(speaker, "JoinGroup", version, {"member_id": ""} | values)

    def _ask(self, speaker: str, api: str, version: int, values: Value) -> None:
        line = self._line(speaker)
        correlation_id = line.pending.next_correlation_id()
        completed = complete(api, version, self._fill(values), self.names, speaker.partition("/")[0])
        request = self._fill(completed)
        frame = write_request(api, version, correlation_id, line.client_id, request)
        if api != "Produce" or request["acks"] != 0:
            line.pending.add(correlation_id, SentRequest(self.stage.clock.now_ms(), api, version, values))
        line.say(frame)

    def call(self, speaker: str, api: str, version: int, values: Value) -> Value:
        """Send a request and return the response."""
        self._ask(speaker, api, version, values)
        return self._receive(Step(ANSWER, speaker), self._lines[speaker])[1]

    def _line(self, speaker: str) -> Line:
        if speaker not in self._lines:
            first = self._lines.get(speaker.partition("/")[0])
            self._connect(speaker, first.port if first else FIRST_PORT)
        return self._lines[speaker]

    def _connect(self, speaker: str, port: int) -> None:
        person = speaker.partition("/")[0]
        line = self._lines[speaker] = self.stage.connect(port)
        line.client_id = self._client_ids.get(person, person)

    def _find(self, where: str) -> int:
        """Return the port of a node, such as `the coordinator of $group` or `the leader of $topic partition 0`."""
        self._make_up_names(where)
        words = fill(where, self.names).removeprefix("another broker than ").split()
        ports = {node["node_id"]: node["port"] for node in self._metadata([])["brokers"]}
        match words:
            case ["the", "coordinator", "of", group]:
                node_id = self.call(STAGEHAND, "FindCoordinator", 3, {"key": group})["node_id"]
            case ["the", "leader", "of", topic, "partition", number]:
                partitions = self._metadata([{"name": topic}])["topics"][0]["partitions"]
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

    def _metadata(self, topics: Value) -> Value:
        return self.call(STAGEHAND, "Metadata", 1, {"topics": topics})

    def _fill(self, values: Value) -> Value:
        self._make_up_names("$group" + show(values))
        return fill(values, self.names)

    def _make_up_names(self, text: str) -> None:
        for name in MADE_UP.findall(text):
            if name not in self.names:
                self.names[name] = f"{name}-{MARK}"
                self.names[f"{name}_partition"] = partition_for(self.names[name], 50)
