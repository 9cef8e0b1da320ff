"""The path from sources to the report with any engine, and the engine without Spark."""
