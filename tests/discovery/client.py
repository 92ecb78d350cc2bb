"""A client that finds its proxy by name, as the docs say, and counts what fails."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from nncache.connecting import Proxies
from tests.patience import HANG_S

TRIES = 3


class Client:
    """Asks for a status all the while, from whichever proxy the registry names.

    Attributes:
        answered: how many requests, by URL of the proxy.
        failures: each request that no proxy has answered, or not with 200.
    """

    def __init__(self, proxies: Proxies) -> None:
        self.answered: dict[str, int] = {}
        self.failures: list[str] = []
        self._proxies = proxies
        self._stop = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Ask for as long as the block lasts."""
        thread = threading.Thread(target=self._work)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _work(self) -> None:
        try:
            self._ask_all_the_while()
        except Exception as error:  # noqa: BLE001 - a client that has ended proves nothing: it is one that failed
            self.failures.append(f"the client itself ended: {error!r}")

    def _ask_all_the_while(self) -> None:
        while not self._stop.is_set():
            for _ in range(TRIES):
                url = self._proxies.url()
                if self._ask(url):
                    break
                self._proxies.failed(url)
            else:
                self.failures.append("no proxy answered")

    def _ask(self, url: str) -> bool:
        with suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=HANG_S)
            try:
                connection.request("GET", f"{urlsplit(url).path}/?op=GETFILESTATUS")
                status = connection.getresponse().status
            finally:
                connection.close()
            if status != http.client.OK:
                self.failures.append(f"{url}: {status}")
            self.answered[url] = self.answered.get(url, 0) + 1
            return True
        return False
