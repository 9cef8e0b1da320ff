"""What is meant to differ, and why. Everything else that differs is a mistake of kohort's."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.differential.comparing import Difference
from tests.talk.values import show


class Known(NamedTuple):
    """A difference by its API, its path and the two values, as regular expressions."""

    reason: str
    api: str
    path: str
    kafka: str = ".*"
    kohort: str = ".*"


KNOWN: tuple[Known, ...] = ()


def reason_for(difference: Difference) -> str | None:
    """Why two answers may differ so; None: they may not."""
    for known in KNOWN:
        if (
            re.fullmatch(known.api, difference.api)
            and re.fullmatch(known.path, difference.path)
            and re.fullmatch(known.kafka, show(difference.kafka), re.DOTALL)
            and re.fullmatch(known.kohort, show(difference.kohort), re.DOTALL)
        ):
            return known.reason
    return None
