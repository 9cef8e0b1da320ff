"""Names that a response binds to values: members, epochs, tasks, sessions, producers, topics."""

from __future__ import annotations

from tests.differential.sequence import Step
from tests.talk.values import Value, fill


def learn(names: dict[str, Value], asked: Step, answer: Value) -> None:
    """Add the values of a response to `names`."""
    if not isinstance(answer, dict):
        return
    fine = answer.get("error_code") == "NONE"
    if asked.api == "JoinGroup" and answer["member_id"] and (fine or answer["error_code"] == "MEMBER_ID_REQUIRED"):
        names[asked.speaker.partition("/")[0]] = answer["member_id"]
        if fine:
            names["generation"] = answer["generation_id"]
            names[f"{asked.speaker}_epoch"] = answer["generation_id"]
    elif asked.api in ("ShareFetch", "ShareAcknowledge"):
        _learn_session(names, asked, fine or answer["error_code"] == "UNKNOWN_SERVER_ERROR")
    elif asked.api.endswith("GroupHeartbeat") and fine:
        _learn_member(names, asked.speaker, answer)
    elif asked.api in ("InitProducerId", "EndTxn") and fine and answer.get("producer_id", -1) >= 0:
        names |= {"pid": answer["producer_id"], "epoch": answer["producer_epoch"]}
    elif asked.api == "Fetch" and answer.get("session_id"):
        names["session"] = answer["session_id"]
    elif asked.api == "CreateTopics":
        for topic in answer["topics"]:
            own = next((name for name, value in names.items() if value == topic["name"]), None)
            if own and topic["error_code"] == "NONE" and "topic_id" in topic:
                names[f"{own}_id"] = topic["topic_id"]


def _learn_member(names: dict[str, Value], who: str, answer: Value) -> None:
    names[who] = answer["member_id"]
    names[f"{who}_epoch"] = max(answer["member_epoch"], 0)
    if answer.get("assignment") is not None:
        names[f"{who}_share"] = answer["assignment"]["topic_partitions"]
    if answer.get("active_tasks") is not None:
        names[f"{who}_share"], names[f"{who}_standby"] = answer["active_tasks"], answer["standby_tasks"]
    if "endpoint_information_epoch" in answer:
        names[f"{who}_endpoints"] = answer["endpoint_information_epoch"]


def _learn_session(names: dict[str, Value], asked: Step, fine: bool) -> None:
    """Count the requests of a share session; a rejected one is opened again."""
    epoch = fill(asked.values.get("share_session_epoch", 0), {f"{asked.speaker}_session": 0} | names)
    names[f"{asked.speaker}_session"] = epoch + 1 if fine and 0 <= epoch < 2**31 - 1 else 0
