"""The command `kohort`: a usual `kohort serve` at once, everything else through click."""

from __future__ import annotations

import gc

# Loading makes tens of thousands of objects that all stay: looking for garbage among them costs a tenth of the start.
# `serve` turns collection on again; the other commands live too briefly to need it.
gc.disable()

# ruff: noqa: E402
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.cli.serve_options import ServeOptions


def main() -> None:
    """Runs the command line of this process."""
    words = sys.argv[1:]
    if words[:1] == ["serve"] and "_KOHORT_COMPLETE" not in os.environ:
        from kohort.cli.serve_options import read_at_a_glance

        options = read_at_a_glance(words[1:], os.environ)
        if options is not None:
            _serve(options)
            return
    from kohort.cli.commands import main as commands

    commands()


def _serve(options: ServeOptions) -> None:
    try:
        from kohort.cli.serving import serve_until_stopped
        from kohort.cli.standard_streams import standard_streams

        with standard_streams():
            serve_until_stopped(options)
    except KeyboardInterrupt:  # it does not serve yet: then it would be a signal like others
        sys.exit(1)
