"""The way from sources to report, whichever engine carries the rows; and the engine that needs no Spark."""
