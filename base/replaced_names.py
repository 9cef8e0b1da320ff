"""Replacement of the names in an incident, so that it can be shared: of groups, topics, clients, members and hosts.

Equal names have equal replacements, and replacements have the order of the names, because the analysis breaks ties by
name. Parts that Kafka or its clients generate are kept, because rules of the analysis read them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from typing import Final

GROUP, TOPIC, CLIENT, HOST, USER = "group", "topic", "client", "host", "user"  # CLIENT: also members and instances
RACK, PATTERN, ASSIGNOR, SOFTWARE, SOURCE = "rack", "regex", "assignor", "software", "source"
SUBTOPOLOGY, TRANSACTION, TAG, TYPE, RESOURCE = "subtopology", "transaction", "tag", "type", "resource"

_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_HASH: Final = "[bcdfghjklmnpqrstvwxz2456789]"  # of Kubernetes: no vowels, no digits that look like letters
_THREAD: Final = r"-StreamThread-\d+(?:-(?:restore-)?(?:consumer|producer))?"
_GENERATED: Final = re.compile(rf"(?:-?{_UUID}|{_THREAD}|-{_HASH}{{5,10}}-{_HASH}{{5}})\Z")
_ORDINAL: Final = re.compile(r"-\d{1,3}\Z")  # longer numbers may be those of customers
_TOOL: Final = re.compile(r"(?:console-consumer|console-share-consumer|perf-consumer)(?:-(?:client|\d{1,6}))?(?:-|\Z)")
_OF_STREAMS: Final = re.compile(r"-(?:changelog|repartition)\Z")
_NUMBER: Final = re.compile(r"\d+")
_FIXED: Final[dict[str, frozenset[str]]] = {
    TOPIC: frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state", "__cluster_metadata"}),
    CLIENT: frozenset({"rdkafka", "sarama", "kafkajs"}),  # default client ids of libraries
    ASSIGNOR: frozenset(
        {"range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "simple", "stream", "highly_available",
         "compatible", "sessioned", "default"}
    ),
    SOFTWARE: frozenset(
        {"apache-kafka-java", "librdkafka", "confluent-kafka-python", "confluent-kafka-dotnet", "confluent-kafka-go",
         "sarama", "kafkajs", "kafka-python", "aiokafka", "franz-go", "kgo", "segmentio", "kohort"}
    ),
    TYPE: frozenset({"consumer", "connect", "sr", "share", "streams"}),
    USER: frozenset({"User", "ANONYMOUS", "*"}),
    RESOURCE: frozenset({"kafka-cluster", "*"}),
}  # fmt: skip

_SENTENCES: Final = """
unknown type of file; see kohort analyze --help for the supported types; neither a file nor a directory; write its
output to a file; no such file or directory, and not an address host:port; did you mean; port is out of range; the
argument is empty (unset variable?); use . for this directory
the consumer is being closed; consumer poll timeout has expired; the consumer unsubscribed from all topics; the
consumer is being terminated; not provided; client reason; Adding new member with group instance id None null;
removing member on heartbeat expiration; removing member on LeaveGroup; explicit LeaveGroup request for was leader
is re-joining group during; Updating metadata for member during; Updating metadata for static member; removing member
with pending sync request expiration; removing static; dynamic members who haven't joined; sync expiration; over
capacity; group is over capacity and is rebalancing; selectedProtocol will change; static member re-joins; Downgrade
group from consumer to classic; Upgrade classic group to consumer group; the assignment failed; Error when storing
group assignment during SyncGroup; while in state Stable Empty Dead PreparingRebalance CompletingRebalance with old
generation; cached metadata has changed from at the beginning of the rebalance to at the end; need to revoke
partitions and re-join as indicated by the current assignment; rebalance failed due to; group is already rebalancing;
rebalance enforced by user; Subscription to topics pattern is changed; rejoining with a new protocol; encountered from
response; need to rejoin since is unknown in; because the online upgrade is disabled; because the online downgrade is
disabled; the group does not use the consumer embedded protocol; the consumer group maximum size is exceeded; the
classic group maximum size; an unsupported custom assignor is in use; the assignment contains userData; userData of
the custom assignor would be lost; please refer to the documentation or switch to a default assignor before
re-attempting the upgrade; a malformed subscription; the group migration is disabled; the member did not send a
heartbeat, did not revoke, within the timeout; session expired; member failed to sync within ms; fenced because the
member subscribed; the leader thread has shut down; shutdown requested; broker coordinator partition topic a line of
the file cannot be read and is not valid UTF-8 JSON: Expecting value, property name enclosed in double quotes,
delimiter, Extra data, Unterminated string starting at, line column char; not an event: no kind or no ts; expected a
number, text, list or object, got; the number is out of range; not a sample of log ends; not a list of topics; lines
with have an unknown format; and too many characters; a time that can't be; no time, or in another form; have a time
without a date; write the day before each time, as does; nothing in it was understood: no line or record is about a
group, for example; its dates could begin with the day or the month; read as day first; its words are those of Kafka
or older, which is too old: it logs neither reasons nor members. It contains start of a rebalance and other event;
starts of rebalances other events; the file was still being written; its last line may be cut; and more lines; more of
this kind; records kept as they are; records record offsets to of have gaps: only partly known; events came more than
once and were counted once; events are missing; an export contains no transactions: offsets of aborted transactions
look like real ones; reading ended early; reading was interrupted; the cluster cannot be reached; cannot request log
ends; cannot read the delivery states of share groups; cannot query the lag of share groups; is empty: no group has
committed or joined yet; damaged batch segment; checksum does not match; the record is cut off; the value key ends
early; bytes left after the record; unknown layout version type; subscription or assignment of member can't be read;
No such file or directory; Permission denied; connection refused; timed out; reset by peer; impossible time of commits
commit records; clock
"""
_WORD: Final = re.compile(r"[\w.-]+")
_NUMBER_IN_TEXT: Final = re.compile(r"-?\d+(?:ms|s)?\.*")
_ERROR_NAME: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_OMITTED: Final = "…"
_OMITTED_IN_A_ROW: Final = re.compile(rf"{_OMITTED}(?:[^\w.-]*{_OMITTED})+")


class ReplacedNames:
    """Replacements of names. All names must be passed once before `number` and again after it.

    Until then `replace` returns its argument; later it raises KeyError for a name that was not passed before.
    """

    def __init__(self, own_texts: Iterable[str] = ()) -> None:
        """Set up replacements; `own_texts` are further messages of kohort, whose words free text may contain."""
        self._bases: dict[str, set[str]] = {}
        self._replacements: dict[str, dict[str, str]] | None = None
        self._words = {word.lower().strip(".") for word in _WORD.findall(" ".join((_SENTENCES, *own_texts)))}
        self._by_name: dict[str, str] = {}  # replacements in free text
        self._texts: dict[str, str] = {}
        self._text_counts: dict[str, int] = {}

    def number(self) -> None:
        self._replacements = {}
        for kind, bases in self._bases.items():
            digits = len(str(len(bases)))
            self._replacements[kind] = {
                base: f"{kind}-{number:0{digits}}" for number, base in enumerate(sorted(bases), 1)
            }
            self._by_name |= self._replacements[kind]

    def replace(self, kind: str, name: str) -> str:
        start, base, after = _parts(kind, name)
        if not base:
            return name
        if self._replacements is None:
            self._bases.setdefault(kind, set()).add(base)
            return name
        return f"{start}{self._replacements[kind][base]}{after}"

    def of(self, kind: str) -> Callable[[str], str]:
        """Return `replace` for one kind of names."""
        return lambda name: self.replace(kind, name)

    def text(self, text: str) -> str:
        """Return free text with replaced names, and with "…" for other words that are not Kafka's or kohort's own.

        Different texts stay different, because findings count them apart.
        """
        if self._replacements is None:
            return text
        if text not in self._texts:
            result = _OMITTED_IN_A_ROW.sub(_OMITTED, _WORD.sub(self._word, text))
            count = self._text_counts[result] = self._text_counts.get(result, 0) + 1
            self._texts[text] = result if count == 1 or not result else f"{result} ({count})"
        return self._texts[text]

    def _word(self, match: re.Match[str]) -> str:
        word = match[0]
        name = word.rstrip(".")
        if name in self._by_name:
            return self._by_name[name]
        if name.lower() in self._words or not name or _NUMBER_IN_TEXT.fullmatch(word) or _ERROR_NAME.fullmatch(name):
            return word
        return _OMITTED


def _parts(kind: str, name: str) -> tuple[str, str, str]:
    """Return the kept start of a name, the part to replace, and the kept end."""
    if name in _FIXED.get(kind, ()) or (kind in (CLIENT, TOPIC) and _is_kafka_uuid(name)):
        return "", "", name
    if kind == TOPIC and (match := _OF_STREAMS.search(name)):
        return "", name[: match.start()], match[0]
    if kind == SUBTOPOLOGY and _NUMBER.fullmatch(name):
        return "", "", name
    if kind == HOST:
        return name[: len(name) - len(name.lstrip("/"))], name.lstrip("/"), ""
    if kind not in (GROUP, CLIENT):
        return "", name, ""
    start = match[0] if (match := _TOOL.match(name)) else ""
    base, after = name[len(start) :], ""
    if kind == GROUP:
        return start, base, after
    while match := _GENERATED.search(base):
        base, after = base[: match.start()], match[0] + after
    if match := _ORDINAL.search(base):
        base, after = base[: match.start()], match[0] + after
    return start, base, after


def _is_kafka_uuid(text: str) -> bool:
    """Return whether a text is a random UUID as Kafka prints it, and not a name of the same length."""
    if len(text) != 22 or not (re.search("[a-z]", text) and re.search("[A-Z]", text) and re.search(r"\d", text)):
        return False
    try:
        data = base64.urlsafe_b64decode(f"{text}==")
    except ValueError:
        return False
    return data[6] >> 4 == 4 and data[8] >> 6 == 2
