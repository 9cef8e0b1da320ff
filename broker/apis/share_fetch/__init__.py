"""ShareFetch: gives a member of a share group records that nobody else holds."""

from kohort.broker.apis.share_fetch.share_fetch_handler import error_response as error_response
from kohort.broker.apis.share_fetch.share_fetch_handler import handle as handle
