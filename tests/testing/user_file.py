"""A user's test file, run by pytest in a process of its own."""

from __future__ import annotations

from textwrap import dedent

import pytest

PLUGINS = ("kohort.testing.plugin", "pytest_asyncio.plugin")
"""What such a file needs. The others of this environment take longer to load than most of these tests take."""


def run(pytester: pytest.Pytester, text: str, *options: str, plugins: tuple[str, ...] = ()) -> pytest.RunResult:
    """A user's test file, in a process of its own.

    plugins: more of them, by the names of their modules.
    """
    pytester.makepyfile(dedent(text))
    loaded = [word for plugin in (*PLUGINS, *plugins) for word in ("-p", plugin)]
    return pytester.runpytest_subprocess(
        "--disable-plugin-autoload", *loaded, "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", *options
    )
