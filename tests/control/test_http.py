"""The laboratory over HTTP: the same words, asked without a socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from kohort.control.control_errors import ControlError
from kohort.control.faults.fault_files import load, read_rules
from kohort.control.http.app import make_app
from kohort.control.oracle.safety import Budget
from tests.control.talking import Lab

LAUGHS = "- l0: &l0 [ha]\n" + "".join(
    f"- l{number}: &l{number} [{', '.join([f'*l{number - 1}'] * 9)}]\n" for number in range(1, 12)
)  # billion laughs attack: each line refers nine times to the previous one


@pytest.fixture
async def http(lab: Lab) -> AsyncIterator[httpx.AsyncClient]:
    lab.laboratory.record()
    app = make_app(lab.stage.server, laboratory=lab.laboratory)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_clock_is_paused_and_advanced(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group {session_timeout_ms: 10000}")
    assert (await http.post("/clock/pause")).json() == {"now_ms": 0, "paused": True, "scale": 1.0}
    lab.faults.freeze(group=lab.name("group"), member=lab.name("bob"))
    assert (await http.post("/clock/advance", json={"seconds": 10.001})).json()["now_ms"] == 10_001
    assert lab.state() == "PreparingRebalance"
    assert (await http.post("/clock/run", json={"scale": 2})).json()["scale"] == 2.0
    assert (await http.get("/clock")).json()["paused"] is False
    refused = await http.post("/clock/advance", json={"seconds": -1})
    assert (refused.status_code, "seconds" in refused.json()["detail"]) == (422, True)


async def test_rules_are_made_listed_and_removed(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    rule = {
        "match": {"api": "Heartbeat", "client_id": "ada"},
        "do": "error",
        "with": {"name": "NOT_COORDINATOR"},
        "times": 1,
    }
    made = await http.post("/faults", json=rule)
    assert (made.status_code, made.json()["text"]) == (
        201,
        "rule 1: Heartbeat with client_id ada: answer NOT_COORDINATOR",
    )
    lab.talk("ada Heartbeat v4 {generation_id: 1}\n<- NOT_COORDINATOR\nada Heartbeat v4 {generation_id: 1}\n<- NONE")
    assert [(entry["acted"], entry["exhausted"]) for entry in (await http.get("/faults")).json()] == [(1, True)]
    assert (await http.delete("/faults/1")).status_code == 200
    gone = await http.delete("/faults/1")
    assert (gone.status_code, gone.json()["detail"]) == (404, "unknown rule 1; it may have been removed already")


async def test_null_fields_are_omitted(http: httpx.AsyncClient) -> None:
    rule = {"match": {"api": "Heartbeat", "group": None}, "do": "delay", "with": {"seconds": 2, "until": None}}
    assert (await http.post("/faults", json=rule)).json()["text"] == "rule 1: Heartbeat: delay it by 2000 ms"


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        ({"match": {"api": "Hartbeat"}, "do": "drop"}, "did you mean Heartbeat?"),
        ({"match": {"api": "Heartbeat", "stat": "Stable"}, "do": "drop"}, "did you mean state?"),
        ({"match": {}, "do": "dropp"}, "did you mean drop?"),
        ({"match": {}, "do": "delay", "with": {"second": 2}}, "did you mean seconds?"),
        ({"match": {}, "do": "delay"}, "a delay requires either seconds or until"),
        ({"match": {}, "do": "delay", "with": {"until": "Stabel"}}, "did you mean Stable?"),
        ({"match": {}, "do": "delay", "with": {"untill": "Stable"}}, "did you mean until?"),
        ({"match": {}, "do": "hide_nod", "with": {"node": 2}}, "did you mean hide_node?"),
        ({"match": {"client_id": "ada"}, "do": "zombie"}, "a zombie is selected by group and node"),
        ({"match": {"api": "SyncGroup"}, "do": "assign", "with": {"shares": "garbag"}}, "did you mean garbage?"),
        ({"match": {}, "do": "error", "with": {"name": "NOPE_NOT_AN_ERROR"}}, "unknown error"),
    ],
)
async def test_invalid_rule_suggests_a_name(http: httpx.AsyncClient, rule: dict[str, object], advice: str) -> None:
    refused = await http.post("/faults", json=rule)
    assert refused.status_code == 422
    assert advice in refused.json()["detail"]


async def test_members_are_held_and_let_through(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    await http.post("/gates", json={"name": "join-complete"})
    lab.talk("bob joins\nada JoinGroup v9 {}\n<- nothing for 100 ms")
    (gate,) = (await http.get("/gates")).json()
    assert sorted(item["client_id"] for item in gate["held"]) == ["ada", "bob"]
    assert (await http.post("/gates/join-complete/release", json={"who": "eve"})).status_code == 404
    await http.post("/gates/join-complete/release", json={"who": "bob"})
    lab.talk("bob <- NONE {generation_id: 2}")
    await http.delete("/gates/join-complete")
    lab.talk("ada <- NONE {generation_id: 2}")
    assert (await http.get("/gates")).json() == []
    unknown = await http.post("/gates", json={"name": "join-completed"})
    assert (unknown.status_code, "did you mean join-complete?" in unknown.json()["detail"]) == (422, True)
    assert "sync-received" in {entry["name"] for entry in (await http.get("/gates/points")).json()}


async def test_groups_are_shown_with_their_history(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group
        ada LeaveGroup v3 {}
          <- NONE {}
        """)
    name = lab.name("group")
    state = (await http.get(f"/groups/{name}")).json()
    assert (state["state"], state["generation"], [item["client_id"] for item in state["members"]]) == (
        "PreparingRebalance",
        2,
        ["bob"],
    )
    assert [entry["id"] for entry in (await http.get("/groups")).json()] == [name]
    assert [entry["cause"] for entry in (await http.get(f"/groups/{name}/history")).json()][-1] == "leave explicit"
    assert any("member removed ada" in line for line in (await http.get(f"/groups/{name}/timeline")).json())
    told = (await http.get(f"/groups/{name}/explanation")).json()
    assert told[0] == f"group {name}: PreparingRebalance, generation 2, 1 member"
    assert told[1].startswith("  waits for bob to join (JoinGroup); in ")
    assert (await http.get("/groups/missing/explanation")).status_code == 404
    missing = await http.get("/groups/missing")
    assert (missing.status_code, missing.json()["detail"]) == (
        404,
        "group missing does not exist or has no coordinator",
    )


async def test_wait_ends_on_condition_or_timeout(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    name = lab.name("group")
    assert (await http.get(f"/groups/{name}/wait", params={"members": 1})).json()["state"] == "Stable"
    late = await http.get(f"/groups/{name}/wait", params={"members": 2, "timeout": 0.01})
    assert late.status_code == 408
    assert "is not Stable with 2 members" in late.json()["detail"]


async def test_coordinator_move_needs_existing_node(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    refused = await http.post(f"/groups/{lab.name('group')}/coordinator", json={"node": 9})
    assert (refused.status_code, refused.json()["detail"]) == (404, "unknown node 9; the nodes are 1")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/groups/missing", "group missing does not exist or has no coordinator"),
        ("/groups/missing/explanation", "group missing does not exist or has no coordinator"),
        ("/groups/missing/members/ada", "group missing does not exist or has no coordinator"),
        ("/groups/missing/history", "group missing does not exist and has no recorded events"),
        ("/groups/missing/timeline", "group missing does not exist and has no recorded events"),
        ("/leaders?topic=nowhere", "topic nowhere does not exist"),
    ],
)
async def test_unknown_objects_are_not_found(http: httpx.AsyncClient, path: str, sentence: str) -> None:
    missing = await http.get(path)
    assert (missing.status_code, missing.json()["detail"]) == (404, sentence)


async def test_one_member_is_shown(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    found = await http.get(f"/groups/{lab.name('group')}/members/ada")
    assert (found.json()["client_id"], found.json()["is_alive"]) == ("ada", True)
    missing = await http.get(f"/groups/{lab.name('group')}/members/bob")
    assert missing.status_code == 404
    assert missing.json()["detail"] == f"bob is not a member of group {lab.name('group')}; its members: ada"


async def test_topics_are_created_extended_and_written(http: httpx.AsyncClient, lab: Lab) -> None:
    wanted = {"name": "parcels", "partitions": 2, "configs": {"cleanup.policy": "compact"}}
    made = await http.post("/topics", json=wanted)
    assert made.status_code == 201
    assert made.json()["configs"] == {"cleanup.policy": "compact"}
    assert (await http.post("/topics/parcels/partitions", json={"partitions": 3})).status_code == 200
    for offset in (0, 2):
        written = await http.post("/topics/parcels/records", json={"values": ["1", None], "key": "k", "partition": 1})
        assert (written.status_code, written.json()) == (201, {"offset": offset})
    read = (await http.get("/topics/parcels")).json()
    assert [(item["start_offset"], item["end_offset"]) for item in read["partitions"]] == [(0, 0), (0, 4), (0, 0)]
    assert read in (await http.get("/topics")).json()
    assert lab.laboratory.topics.values("parcels", partition=1) == [b"1", None, b"1", None]


async def test_topic_errors_are_returned(http: httpx.AsyncClient, lab: Lab) -> None:
    async def refused(path: str, body: object) -> tuple[int, str]:
        answer = await http.post(path, json=body)
        return answer.status_code, answer.json()["detail"]

    await http.post("/topics", json={"name": "parcels"})
    assert await refused("/topics", {"name": "parcels"}) == (
        422,
        "topic parcels cannot be created: Topic 'parcels' already exists.",
    )
    assert (await refused("/topics", {"name": "p", "configs": {"cleanup": "x"}}))[0] == 422
    assert (await refused("/topics/parcels/records", {"values": []}))[0] == 422
    assert await refused("/topics/parcels/partitions", {"partitions": 1}) == (
        422,
        "topic parcels cannot have 1 partitions: Topic already has 1 partition(s).",
    )
    assert await refused("/topics/letters/records", {"values": ["x"]}) == (
        404,
        "topic letters does not exist; create it first",
    )
    assert await refused("/topics/parcels/records", {"values": ["x"], "partition": 3}) == (
        404,
        "topic parcels has partitions 0 to 0, not 3",
    )

    lab.laboratory.cluster.broken = OSError(28, "No space left on device")
    assert await refused("/topics/parcels/records", {"values": ["x"]}) == (
        422,
        "cannot store parcels-0: No space left on device",
    )


async def test_appends_are_held_and_fail(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given topic $topic with 1 partitions")
    made = await http.post("/appends", json={"kind": "commit", "do": "hold", "times": 1})
    assert (made.status_code, made.json()["text"]) == (201, "rule 1: writes of kind commit are held")
    lab.talk("""
        ada OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {$topic: {0: 7}}}
          <- nothing for 500 ms
        """)
    assert [(entry["acted"], entry["held"]) for entry in (await http.get("/appends")).json()] == [(1, 1)]
    assert (await http.post("/appends/1/release")).json()["held"] == 0
    lab.talk("ada <- {topics: [{partitions: [{error_code: NONE}]}]}")
    await http.delete("/appends/1")
    gone = await http.delete("/appends/1")
    assert (gone.status_code, gone.json()["detail"].partition(";")[0]) == (404, "unknown rule 1 for appends")
    failing = {"kind": "commit", "group": "no-*", "do": "fail", "error": "KAFKA_STORAGE_ERROR"}
    assert (await http.post("/appends", json=failing)).json()["text"] == (
        "rule 2: writes of kind commit of group no-* fail with KAFKA_STORAGE_ERROR"
    )
    slow = {"kind": "group", "do": "delay", "seconds": 2}
    assert (await http.post("/appends", json=slow)).json()[
        "text"
    ] == "rule 3: writes of kind group are reported 2000 ms late"
    assert "requires `seconds`" in (await http.post("/appends", json={"do": "delay"})).json()["detail"]
    assert "did you mean" in (await http.post("/appends", json={"do": "fail", "error": "NOT_ENOUGH"})).json()["detail"]
    await http.delete("/appends")
    assert (await http.get("/appends")).json() == []


async def test_violations_are_listed_and_cleared(http: httpx.AsyncClient, lab: Lab) -> None:
    assert (await http.get("/violations")).json() == []
    lab.laboratory.watch_safety(Budget())
    lab.talk("given topic $topic with 1 partitions\ngiven ada shares a stable group")
    for offset in (7, 6):
        lab.talk(f"""
            ada OffsetCommit v8 {{generation_id: 1, offsets: {{$topic: {{0: {offset}}}}}}}
              <- {{topics: [...]}}
            """)
    (told,) = (await http.get("/violations")).json()
    assert "back from 7 to 6" in told
    assert (await http.delete("/violations")).json() == [told]
    assert (await http.get("/violations")).json() == []


async def test_reset_lists_removed_rules(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.laboratory.watch_safety(Budget())
    lab.talk("given ada shares a stable group")
    await http.post("/clock/pause")
    await http.post("/clock/run", json={"scale": 4})
    await http.post("/faults", json={"match": {"api": "JoinGroup"}, "do": "drop"})
    await http.post("/appends", json={"do": "hold"})
    await http.post("/gates", json={"name": "heartbeat-response", "group": lab.name("group")})
    lab.talk("ada Heartbeat v4 {generation_id: 1}\n<- nothing for 100 ms")
    left = (await http.post("/reset")).json()
    assert (len(left["gates"]), left["violations"]) == (1, [])
    assert "was still held; waiting: Heartbeat of " in left["gates"][0]
    lab.talk("ada <- NONE")
    assert (await http.get("/clock")).json() | {"now_ms": 0} == {"now_ms": 0, "paused": False, "scale": 1.0}
    assert [(await http.get(path)).json() for path in ("/faults", "/appends", "/gates")] == [[], [], []]
    assert (await http.post("/reset")).json() == {"gates": [], "violations": [], "groups": []}


async def test_same_gate_name_in_several_groups(http: httpx.AsyncClient) -> None:
    for group in ("billing", "fraud"):
        await http.post("/gates", json={"name": "join-complete", "group": group})
    await http.post("/gates/join-complete/release", params={"group": "fraud"}, json={})
    await http.delete("/gates/join-complete", params={"group": "fraud"})
    assert [entry["group"] for entry in (await http.get("/gates")).json()] == ["billing"]
    gone = await http.delete("/gates/join-complete", params={"group": "fraud"})
    assert (gone.status_code, gone.json()["detail"]) == (
        404,
        "gate join-complete for group fraud is not closed; close it first",
    )


async def test_wait_for_waiting_member(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("""
        given ada shares a stable group
        bob joins
          <- nothing for 100 ms
        """)
    wait = f"/groups/{lab.name('group')}/wait"
    wanted: dict[str, str | float] = {
        "state": "PreparingRebalance",
        "member": "bob",
        "waits_for": "join",
        "generation": 1,
    }
    assert (await http.get(wait, params=wanted)).status_code == 200
    late = await http.get(wait, params=wanted | {"member": "ada", "timeout": 0.01})
    assert (late.status_code, "with a member ada that waits for join" in late.json()["detail"]) == (408, True)
    refused = await http.get(wait, params={"state": "Stabel"})
    assert (refused.status_code, "did you mean Stable?" in refused.json()["detail"]) == (422, True)
    assert "waits_for requires member" in (await http.get(wait, params={"waits_for": "join"})).json()["detail"]


def test_rules_come_from_a_file(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(
        "- match: {api: Heartbeat, group: billing}\n  do: drop\n  times: 2\n"
        "- match: {api: JoinGroup, client_id: 'slow-*'}\n  do: delay\n  with: {seconds: 30, jitter: 5}\n"
        "- match: {api: Heartbeat}\n  do: delay\n  with: {until: Stable}\n"
        "- match: {group: billing}\n  do: zombie\n"
        "- do: hide_node\n  with: {node: 1}\n"
        "- do: stale_metadata\n  times: 1\n"
    )
    assert [str(rule) for rule in load(lab.faults, path)] == [
        "rule 1: Heartbeat with group billing: drop it",
        "rule 2: JoinGroup with client_id slow-*: delay it by 30000 to 35000 ms",
        "rule 3: Heartbeat: delay it until Stable",
        "rule 4: any request with group billing: continue to coordinate after another node took over",
        "rule 5: Metadata: hide node 1",
        "rule 6: Metadata: return old leaders",
    ]


def test_date_like_yaml_name(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text("- match: {group: 2026-11-21, version: 3}\n  do: drop\n")
    assert json.dumps(read_rules(path)) == '[{"match": {"group": "2026-11-21", "version": 3}, "do": "drop"}]'


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("- match: {api: Heartbeat}\n  do: drop\n- do: dropp\n", "rule 2: unknown action 'dropp'"),
        ("do: drop\n", "is not a list of rules"),
        ("- [\n", "is not valid YAML"),
        ("- match: Heartbeat\n  do: drop\n", "rule 1: match must be a table, as in match: {api: Heartbeat, group"),
        ("- match: {api: Heartbeat}\n  do: drop\n  times: two\n", "times must be an integer of at least 1, got 'two'"),
        ("- 5: drop\n", "rule 1: unknown rule field '5'"),
        (LAUGHS, "alias \\*l0 is not supported; write out its value"),
        ("- &a {do: drop, match: *a}\n", "alias \\*a is not supported"),
        ("[" * 100_000, "has an unreadable value"),
        ("- times: " + "9" * 5_000, "has an unreadable value"),
        ("- do: 2026-99-99\n", "has an unreadable value"),
        ("#" * 300_000, "has more than 262144 bytes"),
    ],
)
def test_invalid_file_creates_no_rule(lab: Lab, tmp_path: Path, text: str, advice: str) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(text)
    with pytest.raises(ControlError, match=advice):
        load(lab.faults, path)
    assert len(lab.faults) == 0


def test_openapi_is_a_document(lab: Lab) -> None:
    document = make_app(lab.stage.server, laboratory=lab.laboratory).openapi()
    assert document["openapi"].startswith("3.")
    assert "/groups/{group_id}/wait" in document["paths"]
    assert json.dumps(document)


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/faults", {"do": "drop", "time": 1}, "unknown field 'time'; did you mean times?"),
        ("/faults", {"do": "drop", "match": "Heartbeat"}, "match: Input should be a valid dictionary"),
        ("/faults", {"do": "delay", "with": {"seconds": "two"}}, "a delay must be from 0"),
        ("/faults", {"do": "truncate"}, "truncate requires length in `with`"),
        ("/faults", {"do": "error", "with": {"name": 5}}, "unknown error 5"),
        ("/faults", {"do": "assign", "with": {"shares": {"ada": 5}}}, "expected partitions by member id and topic"),
        ("/faults", {"do": "assign", "with": {"shares": {"ada": {"t": [1 << 40]}}}}, "expected partitions"),
        ("/faults", {"do": "hold", "match": {"api": "Fetch", "group": "g"}}, "Fetch requests have no group"),
        ("/gates", {"name": "join-complete", "grup": "billing"}, "did you mean group?"),
        ("/gates?grup=billing", {"name": "join-complete"}, "unknown query parameter 'grup'; valid values: (none)"),
        ("/appends", {"do": "fail", "eror": "X"}, "did you mean error?"),
        ("/clock/run", {"scal": 2}, "did you mean scale?"),
        ("/clock/run", {"scale": 1e9}, "scale: "),
        ("/clock/advance", {"seconds": 1e300}, "seconds: "),
    ],
)
async def test_meaningless_request_gets_message(
    http: httpx.AsyncClient, lab: Lab, path: str, body: object, sentence: str
) -> None:
    answer = await http.post(path, json=body)
    assert (answer.status_code, sentence in answer.json()["detail"]) == (422, True), answer.text
    assert [*lab.faults, *lab.gates, *lab.laboratory.appends.rules] == []


@pytest.mark.parametrize("length", ["NaN", "Infinity", "1e400"])
async def test_invalid_content_length_is_rejected(http: httpx.AsyncClient, length: str) -> None:
    headers = {"content-type": "application/json"}
    for path, body in (
        ("/faults", '{"do": "delay", "with": {"seconds": %s}}'),
        ("/clock/advance", '{"seconds": %s}'),
        ("/clock/run", '{"scale": %s}'),
        ("/appends", '{"do": "delay", "seconds": %s}'),
    ):
        answer = await http.post(path, content=body % length, headers=headers)
        assert answer.status_code == 422, (path, answer.text)


async def test_invalid_json_or_path_is_rejected(http: httpx.AsyncClient) -> None:
    answer = await http.post("/faults", content="{", headers={"content-type": "application/json"})
    assert answer.json()["detail"].startswith("the body is not JSON: ")
    for ask, status in ((http.get("/grups"), 404), (http.put("/faults"), 405)):
        answer = await ask
        assert (answer.status_code, "/openapi.json" in answer.json()["detail"]) == (status, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/topics", '{"name": "\\ud800"}'),
        ("/gates", '{"name": "join-complete", "group": "\\udfff"}'),
        ("/faults", '{"do": "drop", "match": {"group": "a\\ud800"}}'),
        ("/topics/orders/records", '{"values": ["\\ud800"]}'),
    ],
)
async def test_half_a_surrogate_is_no_text(http: httpx.AsyncClient, path: str, body: str) -> None:
    refused = await http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (refused.status_code, "lone surrogate" in refused.json()["detail"]) == (422, True)


async def test_oversized_body_is_not_read(http: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 100_000

    for content in (b" " * 2_000_000, endless()):
        answer = await http.post("/faults", content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, "the limit is 1048576 bytes" in answer.json()["detail"]) == (413, True)
