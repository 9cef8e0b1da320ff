"""See meter.py."""

from benchmarks.stalls.meter import main

main()
