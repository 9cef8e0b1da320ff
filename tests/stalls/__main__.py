"""See meter.py."""

import sys

from tests.stalls.meter import main

main(sys.argv[1:])
