"""Produce: checks batches and appends them."""

from kohort.broker.apis.produce.produce_handler import handle as handle
