"""`python -m kohort` is `kohort`."""

from kohort.cli.main import main

main()
