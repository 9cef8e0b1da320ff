"""What is to be said of each incident, and which of the shared recording's scenarios has been through it as well.

`docs/behaviour/incidents.md` is made of this and of what the stories do.
"""

from __future__ import annotations

OF_CLASSIC_GROUPS: dict[str, dict[str, tuple[str, list[str]]]] = {
    "calm": {},
    "calm-default-ids": {},
    "calm-static": {},
    "orderly-restart": {},
    "debug-consumer": {},
    "dead": {"R29": ("critical", ["c-1", "c-2"]), "R03": ("warning", ["c-1", "c-2"])},
    "lost-hosts": {"R03": ("warning", [f"rdkafka@127.0.5.{number}" for number in (2, 3, 4, 5)])},
    "suspended": {"R03": ("warning", ["c-4"])},
    "static-restart": {"R12": ("warning", ["i-1", "i-2"])},
    "two-assign": {"R33": ("critical", [])},
    "poison": {"R29": ("critical", ["c-3"]), "R30": ("critical", ["c-2", "c-3"])},
    "half-deployed": {"R31": ("warning", ["c-3", "c-4"])},
    "never-commits": {"R32": ("warning", ["c-3"])},
    "static-taken-once": {"R13": ("warning", ["c-2"])},
    "static-ping-pong": {"R13": ("critical", ["c-2"])},
    "merged-restarts": {"R04": ("warning", ["c-1", "c-2", "c-3", "c-4"])},
    "surge-deploy": {"R04": ("warning", [f"billing-5c8d7f9b4-{tail}" for tail in ("kq7lb", "t9xcc", "w4d2s")])},
    "autoscaled": {"R06": ("warning", [])},
}
"""The findings about each group that aren't mere information, without storms: those have causes."""

OF_LOSSES: dict[str, dict[str, tuple[str, list[str]]]] = {
    "hanging-transaction": {"R37": ("warning", [])},
    "hanging-transaction-848": {"R37": ("warning", [])},
    "dependency-away": {"R37": ("warning", [])},
    "dependency-away-848": {"R37": ("warning", [])},
    "overtaken": {"R38": ("critical", [])},
    "unowned": {"R39": ("critical", [])},
    "recreated": {"R44": ("critical", [])},
    "refused-rollout": {"R40": ("critical", [f"orders-84c7d9f6b-{tail}" for tail in ("d4d2s", "k7qlb", "t9xcc")])},
    "killed-deploy": {
        "R04": ("warning", [f"mailer-5c8d7f9b4-{tail}" for tail in ("kq7lb", "t9xcc", "w4d2s", "z8hjk")])
    },
    "refused-commits": {"R21": ("warning", ["c-1", "c-2", "c-3"])},
    "refused-migration": {"R41": ("warning", [])},
    "slow-record": {"R46": ("critical", ["c-1", "c-2"])},
    "throttled-848": {"R23": ("warning", ["c-1"])},
    "throttled": {"R45": ("warning", ["c-2"])},
    "hot-key": {"R19": ("warning", ["c-2"])},
    "hanging-leader": {"R14": ("critical", ["c-1"])},
    "in-turns": {"R20": ("warning", ["c-1", "c-2"])},
    "restless-leader": {"R43": ("warning", ["c-1"])},
    "cut-off": {"R36": ("warning", ["c-1", "c-2", "c-3"])},
    "once-a-minute": {},
    "low-traffic": {},
    "nothing-new": {},
    "console": {},
    "nightly": {},
    "assigned": {},
    "transactions": {},
    "purged": {},
}
"""Findings about each group of the incidents that cost records or service, and about the healthy groups."""

OF_SHARES: dict[str, dict[str, tuple[str, list[str]]]] = {
    "steady": {},
    "rejecting": {},
    "retrying": {},
    "poisoned": {"R47": ("critical", [])},
    "outliving": {"R47": ("critical", []), "R51": ("warning", ["c-1", "c-2"])},
    "crashing": {},
    "failing": {"R48": ("critical", [])},
    "behind": {"R51": ("warning", ["c-1"])},
    "left-alone": {},
}
"""Findings about share groups without an event log, which would show the lock owners."""
OF_SHARES_WITH_EVENTS = OF_SHARES | {
    "poisoned": {"R47": ("critical", ["c-1", "c-2"])},
    "outliving": {"R49": ("critical", ["c-2"]), "R51": ("warning", ["c-1", "c-2"])},
    "failing": {"R48": ("critical", ["c-1", "c-2"])},
}
"""And where kohort's event log does."""

OF_STREAMS: dict[str, dict[str, tuple[str, list[str]]]] = {
    "restoring": {"R03": ("warning", ["p-2"]), "R53": ("warning", ["p-1"])},
    "copied": {"R03": ("warning", ["p-2"])},
    "flapping": {"R54": ("warning", ["p-2"])},
    "rolling": {},
    "upgraded": {"R55": ("warning", [])},
}
"""What is said of streams groups by the offsets topic and samples of log ends."""

SERIOUS: dict[str, tuple[str, list[str]] | None] = {
    "quiet": None,
    "quiet-mixed": None,
    "static-restarts": None,
    "coordinator-restarts": None,
    "topic-grows": None,
    "pattern": None,
    "mixed-settings": None,
    "migrates": None,
    "migrates-back": None,
    "rolling": None,
    "held-back": ("R23", ["c-2"]),
    "never-given-up": ("R23", ["c-2"]),
    "poll-timeout": ("R02", ["c-2"]),
    "killed": ("R03", ["c-3"]),
    "frozen": ("R03", ["c-3"]),
    "crash-loop": ("R05", ["c-2"]),
    "storm": ("R06", []),
    "static-away": ("R12", ["i-2"]),
    "subscriptions": ("R08", []),
    "idle": ("R18", []),
}
"""The one rule that warns about each group, and the members it names; None for healthy groups."""

SAID: dict[str, str] = {
    "quiet-mixed": "R24",
    "static-restarts": "R12",
    "coordinator-restarts": "R16",
    "topic-grows": "R07",
    "pattern": "R08",
    "mixed-settings": "R28",
    "migrates": "R24",
    "migrates-back": "R24",
    "rolling": "R04",
}
"""Findings about healthy groups."""

ALSO_RECORDED: dict[str, str] = {
    "quiet": "kip848-steady",
    "quiet-mixed": "migrate-to-consumer",
    "static-restarts": "kip848-static",
    "coordinator-restarts": "coordinator-move-1",
    "topic-grows": "partitions-added",
    "pattern": "kip848-regex",
    "migrates": "migrate-to-consumer",
    "rolling": "rolling-dynamic",
    "held-back": "kip848-slow-revoker",
    "poll-timeout": "poll-timeout",
    "killed": "session-killed",
    "frozen": "session-frozen",
    "crash-loop": "crash-loop",
    "storm": "autoscaler-thrash",
    "static-away": "rolling-static",
    "subscriptions": "subscription-change",
    "idle": "more-members-than-partitions",
    "calm-default-ids": "healthy-store",
    "calm-static": "healthy-store",
    "suspended": "session-frozen",
    "static-restart": "rolling-static",
    "static-taken-once": "duplicate-instance",
    "autoscaled": "autoscaler-thrash",
}
"""Incidents that `../shared/data/kafka-4.3` holds, too, if only of the other protocol. All others are of our own alone."""
