"""Writer of a sequence as a conversation with Kafka's responses, which `tests/talk` reads."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from tests.differential.codec import NO_ID, default_of, request_of, shape_of
from tests.differential.comparing import RECENT_MS, Difference
from tests.differential.playing import Outcome, Said
from tests.differential.sequence import Step
from tests.differential.sides import CLOSED, GOES_ON
from tests.talk.messages import OTHER_NAMES
from tests.talk.values import Value, show

LEFT_OUT = {"throttle_time_ms"}
UNSAID = {"cluster_id", "payload", "host", "port"}
"""Of no interest, or different at each time."""

LONG_LIST = 12
MEANT_OTHERWISE = {
    "acks",
    "generation_id",
    "group_id",
    "max_wait_ms",
    "member_epoch",
    "member_id",
    "protocol_name",
    "protocol_type",
    "protocols",
    "rebalance_timeout_ms",
    "session_timeout_ms",
    "timeout_ms",
    "topic_partitions",
    "transactional_id",
}
"""Fields whose default in conversations differs from the schema's default."""

BINDS = {("JoinGroup", "generation_id"): "generation", ("InitProducerId", "producer_epoch"): "epoch"}
BINDS[("EndTxn", "producer_epoch")] = "epoch"
"""Numbers of an answer that later requests repeat."""


def write_talk(folder: Path, kind: str, seed: int, outcome: Outcome, release: str) -> Path:
    """Write the file and return its path."""
    difference = outcome.differences[0]
    path = folder / f"{_file_name(difference)}-{kind}-{seed}.talk"
    folder.mkdir(parents=True, exist_ok=True)
    origin = f"{release}.0, make differential, sequence {seed} of {kind}"
    path.write_text("\n".join(lines_of(difference, origin, outcome)) + "\n")
    return path


def _file_name(difference: Difference) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{difference.api} {difference.path}".lower()).strip("-")[:80]


PROFILES = {"ShareGroup": "share", "StreamsGroup": "streams"}
"""Profiles of the conversations, by what the names of their APIs begin with; `consumer` is that of all others."""


def _profile(outcome: Outcome) -> str:
    named = (profile for said in outcome.said for api, profile in PROFILES.items() if said.step.api.startswith(api))
    return next(named, "consumer")


def lines_of(difference: Difference, where_from: str, outcome: Outcome) -> list[str]:
    """Return the lines of the conversation."""
    lines = [f"# {line}" for line in textwrap.wrap(f"{difference}", 110)]
    lines += [
        "#",
        f"# source: Apache Kafka {where_from}",
        f"# profile: {_profile(outcome)}",
        "",
    ]
    back = {value: f"${name}" for name, value in outcome.names.items() if isinstance(value, str)}
    steps = {said.number: said.step for said in outcome.said}
    if "$txn" in show([step.values for step in steps.values()]):
        lines += ["stagehand FindCoordinator v3 {key: $txn, key_type: 1}", "  <- eventually NONE"]
    for said in outcome.said:
        lines.append(_spoken(said.step))
        lines += _heard(said, said.number, steps, back)
    return lines


def _spoken(step: Step) -> str:
    if step.kind == "wait":
        return f"wait {step.values} ms"
    if step.kind == "disconnects":
        return f"{step.speaker} disconnects"
    if step.kind == "topic":
        return f"given topic ${step.values['topic']} with {step.values['partitions']} partitions"
    if step.kind == "sends":
        return f"{step.speaker} sends {show(step.values)}"
    return f"{step.speaker} {step.api} v{step.version} {show(_newest_form(step))}"


def _newest_form(step: Step) -> Value:
    """Convert the request to the form of conversations, which is the same for all versions."""
    unsaid = {field.name: default_of(field) for field in shape_of(request_of(step.api, step.version)).fields}
    values = {name: value for name, value in unsaid.items() if name in MEANT_OTHERWISE} | step.values
    if step.api == "AddPartitionsToTxn" and step.version <= 3:
        return {"transactions": [{key.removeprefix("v3_and_below_"): value for key, value in values.items()}]}
    if step.api == "OffsetFetch" and step.version <= 7:
        group = {"group_id": values.pop("group_id", ""), "topics": values.pop("topics", [])}
        return {"groups": [group], **values}
    if step.api == "LeaveGroup" and step.version <= 2 and "member_id" in values:
        return {"group_id": values.get("group_id", ""), "members": [{"member_id": values["member_id"]}]}
    return values


def _newest_answer(asked: Step, answer: Value) -> Value:
    answer = dict(answer)
    if "results_by_topic_v3_and_below" in answer:
        results = answer.pop("results_by_topic_v3_and_below")
        return answer | {"results_by_transaction": [{"transactional_id": "", "topic_results": results}]}
    return answer


def _heard(said: Said, number: int, steps: dict[int, Step], back: dict[str, str]) -> list[str]:
    lines = []
    for asked_at, answer in said.heard.items():
        asked = steps.get(asked_at, said.step)
        who = "" if asked_at == number else f"{asked.speaker} "
        if isinstance(answer, dict):
            api = "" if asked.kind == "request" else "ApiVersions v0 "
            lines.append(f"  {who}<- {api}{_answer(asked.api, _newest_answer(asked, answer), back)}")
        elif answer != GOES_ON:
            lines.append(f"  {who}<- closed" if answer == CLOSED else f"  # {who}heard: {answer}")
    if number in said.waiting:
        lines.append("  <- nothing for 150 ms")
    return lines


def _answer(api: str, answer: Value, back: dict[str, str]) -> str:
    fields = {key: value for key, value in answer.items() if key not in LEFT_OUT}
    error = fields.pop("error_code", None)
    named = _named(fields, back, "")
    if error == "NONE":
        named |= {key: f"${BINDS[api, key]}" for key in named if (api, key) in BINDS}
    told = show(named)
    return f"{error} {told}" if error is not None else told


def _named(value: Value, back: dict[str, str], name: str) -> Value:
    """Replace ids by their names in the conversation, and values that differ each time by `_`."""
    if isinstance(value, dict):
        if "magic" in value:
            return "_"  # a batch
        if set(value) == {"topic_partitions"}:
            return _shares(value["topic_partitions"], back)
        return {
            OTHER_NAMES.get(key, key): _named(item, back, key) for key, item in value.items() if key not in LEFT_OUT
        }
    if isinstance(value, list):
        if len(value) > LONG_LIST:
            return [*(_named(item, back, name) for item in value[:2]), "..."]
        return [_named(item, back, name) for item in value]
    if name in UNSAID and value is not None:
        return "_"
    if name in ("producer_id", "session_id") and isinstance(value, int) and value > 0:
        return "$pid" if name == "producer_id" else "$session"
    if isinstance(value, int) and not isinstance(value, bool) and RECENT_MS < value < 2**62:
        return "_"
    if isinstance(value, str) and value != NO_ID:
        if value in back:
            return back[value]
        for made_up in sorted(back, key=len, reverse=True):
            if made_up and len(made_up) > 8 and made_up in value:
                value = value.replace(made_up, "${" + back[made_up][1:] + "}")
    return value


def _shares(entries: list[Value], back: dict[str, str]) -> Value:
    """Format an assignment as conversations do: topics with their partitions."""
    return {
        back.get(entry["topic_id"], entry["topic_id"]).removesuffix("_id"): sorted(entry["partitions"])
        for entry in entries
    }
