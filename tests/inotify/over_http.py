"""A subscriber that uses only HTTP: `GET /v1/events` of a proxy, resumed whenever the stream ends.

(tests/inotify/over_http.py)

It acts like an `EventSource`: it reconnects with its last id as `Last-Event-ID`. The data that it receives have the
form that `nncache watch --json` prints. Each change of a history is one event, so each event has an id.
"""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from nncache.testbed.errors import ServerStartError
from tests.event_client import EventClient
from tests.patience import HANG_S
from tests.real.beside import beside

USER: Final = "alice"
"""The user whom `tests.service.InotifyService.add` allows to subscribe to each filter."""

_RETRY_S: Final = 0.2
"""Shorter than the stream advises, because a history is short."""


class HttpSubscriber:
    """A client that follows a filter.

    Attributes:
        resumed: how often it reconnected with an id.
        refused: the statuses below 500 of replies that refused the stream.
    """

    def __init__(self, address: str, filter_name: str) -> None:
        self._address = address
        self._target = f"/v1/events?filter={filter_name}&user.name={USER}"
        self._subscriber_log: list[dict[str, Any]] = []
        self._began = threading.Event()
        self._client: EventClient | None = None
        self._last_id = ""
        self._ended = "it was not started"  # why the last stream ended
        self.resumed = 0
        self.refused: list[int] = []

    @contextmanager
    def following(self) -> Iterator[Self]:
        """Follow in a thread until the block ends.

        Raises:
            StartError: no stream begins in time.
        """
        with beside(self._run) as work:
            try:
                if not self._began.wait(HANG_S):
                    raise ServerStartError(f"no stream of {self._target}: {self.last_words()}")
                yield self
            finally:
                work.ending.set()
                if (client := self._client) is not None:
                    client.cut()

    def lines(self) -> tuple[dict[str, Any], ...]:
        """Return the data received so far."""
        return tuple(self._subscriber_log)

    def last_words(self) -> str:
        """Return why its last stream ended."""
        return self._ended

    def _run(self, ending: threading.Event) -> None:
        while not ending.is_set():
            self._follow(ending)
            ending.wait(_RETRY_S)

    def _follow(self, ending: threading.Event) -> None:
        """Follow one stream to its end; ignore connection errors."""
        headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
        try:
            with EventClient(self._address, self._target, headers) as client:
                self._client = client
                if client.status != http.HTTPStatus.OK:
                    self._take_refusal(client)
                elif not ending.is_set():
                    self.resumed += bool(headers)
                    self._take(client)
        except (OSError, http.client.HTTPException) as exc:
            self._ended = repr(exc)

    def _take(self, client: EventClient) -> None:
        for message in client:
            self._last_id = message.last_id
            self._subscriber_log.append(message.data)
            self._began.set()
        self._ended = "it came to its end"

    def _take_refusal(self, client: EventClient) -> None:
        self._ended = f"{client.status}: {client.body().decode(errors='replace')}"
        if client.status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
            self.refused.append(client.status)
