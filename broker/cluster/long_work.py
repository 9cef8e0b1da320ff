"""Work of requests that would keep everybody waiting: in a thread, one piece after the other.

The connection that it is for is parked meanwhile, as for any request that waits; others are served. There is one
thread, so that memory is bounded by what one piece of work needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kohort.broker.job_thread import JOBS_HERE, Jobs
from kohort.broker.logs import log
from kohort.broker.short_text import short_text
from kohort.broker.ticket import NO_REPLY, CloseConnection

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.ticket import Ticket

T = TypeVar("T")


class LongWork:
    """The long work of a cluster. Without a server all of it is done at once."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self.jobs: Jobs = JOBS_HERE
        self.act: Callable[[Callable[[int], None]], None] = lambda action: action(cluster.clock.now_ms())
        """Does something together with what follows from it (`Server.act`)."""

    def answer(self, ticket: Ticket, work: Callable[[], T], then: Callable[[T], object | None]) -> None:
        """Answers a request by what `then` makes of the result of `work`; the handler returns None.

        `work` runs in a thread: it reads what never changes. `then` is called in the event loop, and answers as a
        handler does: None, if it answers later.
        """

        def job() -> None:
            try:
                result = work()
            except Exception:
                self.jobs.hand_over(partial(self.act, lambda now_ms: _failed(ticket)))
                raise
            self.jobs.hand_over(partial(self.act, lambda now_ms: _answer(ticket, then, result)))

        self.jobs.run(job)

    def make(self, work: Callable[[], T], then: Callable[[T, int], None]) -> None:
        """Calls `then` in the event loop with what `work` has made in a thread, and the time. `work` raises nothing."""

        def job() -> None:
            result = work()
            self.jobs.hand_over(partial(self.act, partial(then, result)))

        self.jobs.run(job)


def _answer(ticket: Ticket, then: Callable[[T], object | None], result: T) -> None:
    try:
        response = then(result)
    except CloseConnection as reason:
        ticket.answered = True
        ticket.requester.close(str(reason))
    except Exception:
        log.error(f"{ticket.client_host}: answering {short_text(ticket.request)} failed")
        ticket.fail()
    else:
        if response is NO_REPLY:
            ticket.no_reply()
        elif response is not None:
            ticket.reply(response)


def _failed(ticket: Ticket) -> None:
    ticket.fail()
