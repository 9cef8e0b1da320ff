"""Entry point of `python -m kohort.cli`, the same as `kohort`."""

from kohort.cli.main import main

main()
