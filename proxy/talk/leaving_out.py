"""What of a conversation can't be played, or compared, on another cluster than the one before which it was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kohort.proxy.talk.bindings import Bindings
from kohort.proxy.talk.id_names import MEMBER, PRODUCER, ids_in
from kohort.proxy.talk.recorded_apis import LEFT_OUT_ANSWER
from kohort.proxy.talk.talk_file import Step
from kohort.proxy.talk.talk_values import Value

ELSEWHERE: Final = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NOT_COORDINATOR",
    }
)
"""Errors that say where a coordinator is, or is not yet. What was refused so has changed nothing in a group."""

NOT_YET: Final = frozenset({"LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"})
"""What topics are answered with that are there when the conversation is played."""

_ENDS_WHAT_IS_NOT_THERE: Final = 5
"""The version of EndTxn from which transactions begin with what is added, as records are (KIP-890)."""


class Judge:
    """Looks at steps in their order."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._added: set[str] = set()
        """Transactions to which something was added that is in the conversation."""

    def leaves_out(self, step: Step) -> bool:
        """Whether a request is not sent.

        Those that were refused at the wrong place are not; nor those of members and producers who were there before
        the recording began, nor the end of a transaction that has nothing but records.
        """
        refused = NOT_YET if step.api == "metadata" else ELSEWHERE
        if step.answer is not None and any(error in refused for error in _errors(step.answer.values)):
            return True
        if self._is_of_stranger(step):
            return True
        transaction = first(step.values, "transactional_id")
        if step.api == "end_txn" and step.line.version >= _ENDS_WHAT_IS_NOT_THERE:
            if transaction not in self._added:
                self._skip_epoch(step)
                return True
            self._added.discard(transaction)
        elif transaction and step.api != "init_producer_id":
            self._added.add(transaction)
        return False

    def _is_of_stranger(self, step: Step) -> bool:
        """Whether it was answered somebody, as if they were known, of whom nothing was recorded before."""
        if step.answer is None or any(error != "NONE" for error in _errors(step.answer.values)):
            return False
        if step.values.get("member_epoch", 0) == 0 and step.api.endswith("_group_heartbeat"):
            return False
        ids = [*ids_in(step.values, MEMBER), *ids_in(step.values, PRODUCER)]
        return any(str(each).startswith("$") and self._bindings.value_of(str(each)) is None for each in ids)

    def _skip_epoch(self, step: Step) -> None:
        """The producer's next epoch will be one that was not given here."""
        producer = first(step.values, "producer_id")
        after = step.answer.values.get("producer_epoch") if step.answer is not None else None
        before = step.values.get("producer_epoch", -1)
        if isinstance(after, int):
            self._bindings.move(("producer", producer), before - after)

    def comparable(self, step: Step, heard: Value) -> tuple[Value, Value]:
        """What was recorded and what is heard, without what can't be the same."""
        assert step.answer is not None, "it was recorded"
        expected = step.answer.values
        if LEFT_OUT_ANSWER in expected:
            return {}, {}
        if step.api == "metadata":
            return _topics_of_both(step, expected, heard)
        return expected, heard


def _topics_of_both(step: Step, expected: Value, heard: Value) -> tuple[Value, Value]:
    """An answer about all topics tells of those of others, too: what both clusters have is compared."""
    if step.values.get("topics"):
        return expected, heard
    theirs, ours = _by_name(expected), _by_name(heard)
    both = [name for name in theirs if name in ours]
    return {"topics": [theirs[name] for name in both]}, {"topics": [ours[name] for name in both]}


def _by_name(answer: Value) -> dict[str, Value]:
    return {str(topic.get("name")): topic for topic in answer.get("topics", ())}


def _errors(values: Value) -> Iterator[str]:
    """All error codes in an answer."""
    if isinstance(values, list):
        for each in values:
            yield from _errors(each)
    elif isinstance(values, dict):
        for name, value in values.items():
            if name.endswith("error_code"):
                yield str(value)
            else:
                yield from _errors(value)


def first(values: Value, name: str) -> str:
    """What a field of this name holds, here or within a list; empty: there is none."""
    if isinstance(values, dict):
        found = values.get(name)
        if isinstance(found, str):
            return found
        return next(filter(None, (first(each, name) for each in values.values())), "")
    if isinstance(values, list):
        return next(filter(None, (first(each, name) for each in values)), "")
    return ""
