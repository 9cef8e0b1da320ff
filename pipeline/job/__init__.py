"""The Spark job: carries sources to silver and silver to gold. No number is defined here."""
