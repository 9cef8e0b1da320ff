"""Produce: checks batches and appends them."""

from kohort.broker.apis.produce.handler import handle as handle
