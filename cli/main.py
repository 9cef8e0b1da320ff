"""Entry point of `kohort`: starts a plain `kohort serve` without click, and every other command with it."""

from __future__ import annotations

import gc

# Imports create tens of thousands of objects that all stay: collecting garbage among them costs a tenth of the start.
# `serve` turns collection on again; the other commands live too briefly to need it.
gc.disable()

# ruff: noqa: E402
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.cli.serve_options import ServeOptions


def main() -> None:
    if sys.platform == "win32":
        sys.exit("kohort: Windows is not supported; run kohort in its container image or in WSL")
    # A shell without job control ignores SIGINT in a process that it starts with `&`. Commands that run until a signal
    # set their handlers after their imports; an earlier SIGINT would be lost.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"] and "_KOHORT_COMPLETE" not in os.environ:
        from kohort.cli.serve_options import read_at_a_glance

        options = read_at_a_glance(arguments[1:], os.environ)
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
    except KeyboardInterrupt:  # only before the broker serves; then it handles signals itself
        sys.exit(1)
