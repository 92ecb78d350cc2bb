"""A request that is held without a task: what its answer is made of, until its connection sends it."""

import logging

from nncache.proxy.answers import Answers
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.error_replies import error_reply
from nncache.proxy.clients.request import Request
from nncache.proxy.conditional import Conditions
from nncache.proxy.errors import ProxyError
from nncache.proxy.reading import Reading
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.proxy.wait_groups import KeptWait, Waited

_log = logging.getLogger(__name__)


class HeldRequest:
    """One request. `nncache.proxy.wait_groups.Keepable` for those who decide, `Held` for its connection.

    Invariants:
        H1  It is counted once: when it is answered or abandoned.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_conditions",
        "_exchange",
        "_reading",
        "_request",
        "_traffic",
        "_wait",
    )

    def __init__(
        self,
        request: Request,
        answers: Answers,
        traffic: Traffic,
        exchange: Exchange,
        reading: Reading,
        conditions: Conditions,
    ) -> None:
        self._request: Request | None = request  # until it is held
        self._answers = answers
        self._traffic = traffic
        self._exchange = exchange
        self._reading = reading
        self._conditions = conditions
        self._client: ClientConnection | None = None  # holds it
        self._wait: KeptWait | None = None

    def keep(self, wait: KeptWait) -> bool:
        """Have it held, if its connection can."""
        request, self._request = self._request, None
        if request is None or not request.connection.hold(request, self):
            return False
        self._wait, self._client = wait, request.connection
        return True

    def leave(self) -> None:
        """Have it answered soon: the client has closed its half."""
        assert self._wait is not None
        self._wait.end()

    def abandon(self) -> None:
        """Answer it no more: the client is gone."""
        wait, self._wait, self._client = self._wait, None, None
        if wait is not None:
            wait.abandon()
            self._exchange.result = Result.ABANDONED
            self._traffic.ended(self._exchange)

    def answered(self, waited: Waited) -> None:
        """Send the answer, and count the request. Never raises."""
        client, self._client, self._wait = self._client, None, None
        assert client is not None
        exchange = self._exchange
        exchange.started += waited.held_s  # what is timed is the work
        try:
            response = self._answers.with_conditions(
                exchange, self._reading, waited, self._conditions, is_secure=client.is_over_tls
            )
        except Exception:  # noqa: BLE001 - the last line of defence: logged, counted, answered
            _log.exception("internal error while answering a request that was held")
            exchange.result = Result.FAILED
            response = error_reply(ProxyError("internal error; the log of the proxy says more"))
        exchange.status, exchange.body_bytes = response.status, response.known_length
        self._traffic.ended(exchange)
        try:
            client.answered(response)
        except Exception:  # noqa: BLE001 - as in any call of a protocol, it costs its own connection and no other
            _log.exception("internal error while an answer was sent")
            client.end()
