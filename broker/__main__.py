"""`python -m kohort.broker` is `kohort`."""

from kohort.broker.cli import main

main()
