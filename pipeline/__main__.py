"""`python -m kohort.pipeline` is `kohort analyze`."""

from kohort.pipeline.cli import analyze

analyze()
