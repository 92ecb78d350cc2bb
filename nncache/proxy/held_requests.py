"""A request that is held, as its connection sees it when aiohttp has gone.

Of a request that waits nothing of aiohttp is needed: no task, no parser, no request. Its connection goes back to what
serves known requests (`nncache.proxy.clients.quick_connection`), and this has what its answer is made of.
"""

import logging
from typing import NoReturn, Protocol, runtime_checkable

from aiohttp import HttpVersion11, web

from nncache.proxy.answers import Answers
from nncache.proxy.clients.error_replies import error_reply
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.conditional import Conditions
from nncache.proxy.errors import ProxyError
from nncache.proxy.reading import Reading
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.proxy.wait_groups import KeptWait, Waited

_log = logging.getLogger(__name__)


class Holder(Protocol):
    """`nncache.proxy.clients.quick_connection.QuickConnection`, as far as it is needed here."""

    @property
    def is_over_tls(self) -> bool:
        """Whether the client is connected over TLS."""

    def answered(self, response: RawResponse) -> None:
        """Send the answer to what is held, and go on."""

    def end(self) -> None:
        """End the connection at once."""


@runtime_checkable
class LetsGo(Protocol):
    """`nncache.proxy.clients.connection.ClientConnection`, as far as it is needed here."""

    @property
    def is_alone(self) -> bool:
        """Whether the request in progress came alone, and its connection goes on."""

    def give_back(self, *, held: "HeldRequest") -> None:
        """Give the transport to a connection that holds the request; this one ends."""


class LetGo(web.StreamResponse):
    """In place of the response to a request that is held elsewhere: nothing is written."""

    async def prepare(self, _: web.BaseRequest) -> NoReturn:
        """End the connection's task, as if the client were gone.

        Raises:
            ConnectionResetError: always.
        """
        raise ConnectionResetError("the request is held without its task")


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
        "_lets_go",
        "_reading",
        "_traffic",
        "_wait",
    )

    def __init__(
        self,
        answers: Answers,
        traffic: Traffic,
        exchange: Exchange,
        reading: Reading,
        conditions: Conditions,
        lets_go: LetsGo,
    ) -> None:
        self._answers = answers
        self._traffic = traffic
        self._exchange = exchange
        self._reading = reading
        self._conditions = conditions
        self._lets_go: LetsGo | None = lets_go
        self._client: Holder | None = None  # holds it
        self._wait: KeptWait | None = None

    @classmethod
    def of(
        cls,
        request: web.BaseRequest,
        answers: Answers,
        traffic: Traffic,
        exchange: Exchange,
        reading: Reading,
        conditions: Conditions,
    ) -> "HeldRequest | None":
        """Return one, unless the request is served on a connection that cannot let go of it."""
        connection = getattr(request, "protocol", None)
        if not isinstance(connection, LetsGo) or request.version != HttpVersion11 or not request.keep_alive:
            return None
        return cls(answers, traffic, exchange, reading, conditions, connection)

    def keep(self, wait: KeptWait) -> bool:
        """Have it held, if its connection can let go of it still."""
        lets_go, self._lets_go = self._lets_go, None
        if lets_go is None or not lets_go.is_alone:
            return False
        self._wait = wait
        lets_go.give_back(held=self)
        return True

    def held_by(self, client: Holder) -> None:
        """Take note of what holds it from here on."""
        self._client = client

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
