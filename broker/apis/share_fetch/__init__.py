"""ShareFetch: acquires and returns records for a member of a share group."""

from kohort.broker.apis.share_fetch.share_fetch_handler import error_response as error_response
from kohort.broker.apis.share_fetch.share_fetch_handler import handle as handle
