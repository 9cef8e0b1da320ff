"""Recorded conversations about what kohort does not do yet; neither played here nor by `make conformance`."""

from fnmatch import fnmatch

_NEED_FETCHES = """
acknowledged-in-pieces acknowledgement-checks acl-share-groups bad-acknowledgements-on-a-fetch
closing-with-acknowledge connection-lost deleted-topic-in-a-session delivery-limit fetch-and-accept
fetch-before-anybody-joined fetch-checks fetch-latest fetch-with-acknowledgements
few-records-at-a-time forgotten-and-remembered gone-with-records-in-hand
group-deleted-under-a-session kinds-of-acknowledgement limit-reached-by-expiry limits-of-a-fetch
lock-expires lock-expires-for-the-rest lock-renewed locks-at-most log-start-moves
nobody-else-gets-locked-records not-the-leader offsets-altered offsets-as-they-move offsets-deleted
offsets-of-a-new-group often-delivered-batches-shrink ranges-across-batches release-and-redeliver
released-when-the-connection-ends renewed-on-a-fetch reset-by-duration restart-keeps-the-group
restart-redelivers session-epochs session-limit sessions settings-change-under-way
snapshots-of-the-state state-cannot-be-kept state-is-written-down switched-off
transactions-read-committed two-members-take-turns two-topics-in-a-session waiting-for-bytes
"""

LATER = {
    **{f"share/{name}": "ShareFetch (KIP-932)" for name in _NEED_FETCHES.split()},
    "streams/*": "streams groups (KIP-1071)",
}
"""Name, or pattern of names, and what is missing."""


def why_later(name: str) -> str | None:
    """What `classic/some-conversation` waits for; None: it is to be played."""
    return next((reason for pattern, reason in LATER.items() if fnmatch(name, pattern)), None)
