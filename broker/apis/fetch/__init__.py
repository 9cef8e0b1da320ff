"""Fetch: reads the partitions of a request or its session."""

from kohort.broker.apis.fetch.fetch_handler import error_response as error_response
from kohort.broker.apis.fetch.fetch_handler import handle as handle
