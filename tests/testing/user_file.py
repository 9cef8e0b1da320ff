"""A user's test file, run by pytest in a process of its own."""

from __future__ import annotations

from textwrap import dedent

import pytest


def run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    """A user's test file, in a process of its own."""
    pytester.makepyfile(dedent(text))
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "asyncio_mode=auto", *options)
