"""Spark job that converts sources to silver and silver to gold. It defines no figures."""
