"""Fetch: reads the partitions that a request or its session names."""

from kohort.broker.apis.fetch.fetch_handler import error_response as error_response
from kohort.broker.apis.fetch.fetch_handler import handle as handle
