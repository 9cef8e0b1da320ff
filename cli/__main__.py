"""`python -m kohort.cli` is `kohort`."""

from kohort.cli.main import main

main()
