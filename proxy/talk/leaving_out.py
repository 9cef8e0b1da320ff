"""Parts of a conversation that can't be replayed or compared on a cluster other than the recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kohort.proxy.talk.bindings import Bindings
from kohort.proxy.talk.id_names import MEMBER, PRODUCER, ids_in
from kohort.proxy.talk.recorded_apis import LEFT_OUT_ANSWER
from kohort.proxy.talk.talk_lines import Step
from kohort.proxy.talk.talk_values import Value

ELSEWHERE: Final = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NOT_COORDINATOR",
    }
)
"""Errors about the coordinator's location. Requests with such an error have changed nothing in a group."""

# responses for new topics that exist in a replay
NOT_YET: Final = frozenset({"LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"})

_ENDS_WHAT_IS_NOT_THERE: Final = 5
"""First version of EndTxn in which a transaction begins with its first addition, such as records (KIP-890)."""


class Judge:
    """Decisions about steps, which must be passed in order."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._added: set[str] = set()  # transactions with an addition in the conversation

    def leaves_out(self, step: Step) -> bool:
        """Return whether a request is not sent.

        Requests to the wrong coordinator are not, nor those of members and producers from before the recording, nor the
        end of a transaction that only has records.
        """
        refused = NOT_YET if step.api == "metadata" else ELSEWHERE
        if step.answer is not None and any(error in refused for error in _errors(step.answer.values)):
            return True
        if self._is_of_stranger(step):
            return True
        transaction = first(step.values, "transactional_id")
        if step.api == "end_txn" and step.version >= _ENDS_WHAT_IS_NOT_THERE:
            if transaction not in self._added:
                self._skip_epoch(step)
                return True
            self._added.discard(transaction)
        elif transaction and step.api != "init_producer_id":
            self._added.add(transaction)
        return False

    def _is_of_stranger(self, step: Step) -> bool:
        """Return whether a request succeeded for an id that is not in the recording before."""
        if step.answer is None or any(error != "NONE" for error in _errors(step.answer.values)):
            return False
        if step.values.get("member_epoch", 0) == 0 and step.api.endswith("_group_heartbeat"):
            return False
        ids = [*ids_in(step.values, MEMBER), *ids_in(step.values, PRODUCER)]
        return any(str(value).startswith("$") and self._bindings.value_of(str(value)) is None for value in ids)

    def _skip_epoch(self, step: Step) -> None:
        """Note that the producer's next epoch is one that no request of the replay obtained."""
        producer = first(step.values, "producer_id")
        after = step.answer.values.get("producer_epoch") if step.answer is not None else None
        last = step.values.get("producer_epoch", -1)
        if isinstance(after, int):
            self._bindings.move(("producer", producer), last - after)

    def comparable(self, step: Step, received: Value) -> tuple[Value, Value]:
        """Return the recorded and the received response without the parts that can't be equal."""
        assert step.answer is not None, "it was recorded"
        expected = step.answer.values
        if LEFT_OUT_ANSWER in expected:
            return {}, {}
        if step.api == "metadata":
            return _topics_of_both(step, expected, received)
        return expected, received


def _topics_of_both(step: Step, expected: Value, received: Value) -> tuple[Value, Value]:
    """Reduce responses about all topics to the topics of both clusters."""
    if step.values.get("topics"):
        return expected, received
    theirs, ours = _by_name(expected), _by_name(received)
    both = [name for name in theirs if name in ours]
    return {"topics": [theirs[name] for name in both]}, {"topics": [ours[name] for name in both]}


def _by_name(answer: Value) -> dict[str, Value]:
    return {str(topic.get("name")): topic for topic in answer.get("topics", ())}


def _errors(values: Value) -> Iterator[str]:
    """Yield all error codes in a response."""
    if isinstance(values, list):
        for item in values:
            yield from _errors(item)
    elif isinstance(values, dict):
        for name, value in values.items():
            if name.endswith("error_code"):
                yield str(value)
            else:
                yield from _errors(value)


def first(values: Value, name: str) -> str:
    """Return the first value of a field, here or within a list, or an empty string."""
    if isinstance(values, dict):
        value = values.get(name)
        if isinstance(value, str):
            return value
        return next(filter(None, (first(item, name) for item in values.values())), "")
    if isinstance(values, list):
        return next(filter(None, (first(item, name) for item in values)), "")
    return ""
