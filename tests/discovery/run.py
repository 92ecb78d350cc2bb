"""Start and drain a proxy, and measure when each finder notices."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import nncache
from nncache.client.connecting import Proxies
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon
from tests.discovery.finders import Finder, MakesFinder, Place
from tests.patience import HANG_S, until
from tests.real.beside import beside
from tests.registry.samples import serving

TRIES = 3


@dataclass(frozen=True, slots=True)
class Row:
    """The delays of one finder: after the proxy's start, which includes its start-up time, and after SIGTERM."""

    name: str
    found_s: float
    gone_s: float
    within_s: float


@dataclass(frozen=True, slots=True)
class Reported:
    """The results of the finders and the client; `of_leaving` counts the answers of the proxy that left."""

    rows: tuple[Row, ...]
    requests: int
    of_leaving: int
    failures: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the lines to print."""
        yield f"{'':24}{'found':>10}{'gone':>10}{'at most':>10}"
        for row in self.rows:
            yield f"{row.name:24}{row.found_s:8.2f} s{row.gone_s:8.2f} s{row.within_s:8.2f} s"
        yield f"{self.requests} requests of a client of nncache.connect, {len(self.failures)} failed"

    def shortfalls(self) -> Iterator[str]:
        """Yield each requirement that was not met."""
        for row in self.rows:
            if row.gone_s > row.within_s:
                yield f"{row.name}: gone after {row.gone_s:.2f} s, not within {row.within_s:g} s"
        yield from self.failures


class Client:
    """Requests a status continuously, from whichever proxy the registry names."""

    def __init__(self, proxies: Proxies) -> None:
        self.answered = Counter[str]()  # by URL of the proxy
        self.failures: list[str] = []  # requests without an answer, or with another status than 200
        self._proxies = proxies

    def work(self, ending: threading.Event) -> None:
        """Send requests until `ending` is set."""
        while not ending.is_set():
            self._ask_some_proxy()

    def _ask_some_proxy(self) -> None:
        for _ in range(TRIES):
            url = self._proxies.url()
            if self._ask(url):
                return
            self._proxies.failed(url)
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
            self.answered[url] += 1
            return True
        return False


class Watcher:
    """Polls a finder continuously; records when a proxy first appeared and first disappeared."""

    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self.found_at: float | None = None
        self.gone_at: float | None = None
        self._what: str | None = None

    def expect(self, proxy: ProxyDaemon) -> None:
        """Watch for this proxy."""
        self._what = self.finder.shows(proxy)

    def work(self, ending: threading.Event) -> None:
        """Poll until `ending` is set."""
        while not ending.wait(self.finder.every_s):
            if self._what is None:
                continue
            is_there = self._what in self.finder.look()
            if is_there and self.found_at is None:
                self.found_at = time.monotonic()
            if not is_there and self.found_at is not None and self.gone_at is None:
                self.gone_at = time.monotonic()

    def await_found(self) -> float:
        """Return when the proxy was found."""
        until(lambda: self.found_at is not None, lambda: f"{self.finder.name}: {self.finder.look()}")
        assert self.found_at is not None
        return self.found_at

    def await_gone(self) -> float:
        """Return when the proxy was gone."""
        until(lambda: self.gone_at is not None, lambda: f"{self.finder.name}: {self.finder.look()}")
        assert self.gone_at is not None
        return self.gone_at


def come_and_go(cluster: Cluster, place: dict[str, str], finders: Sequence[MakesFinder]) -> Reported:
    """Start a proxy next to another one, find it, and drain it under a client's load."""
    with ExitStack() as open_ones:
        staying = open_ones.enter_context(serving(cluster, place, "/story/*", lame_duck_s=3))
        proxies = open_ones.enter_context(nncache.connect(**place))
        where = Place(place, staying)
        watchers = [Watcher(open_ones.enter_context(make(where))) for make in finders]
        until(lambda: len(proxies.urls) == 1, lambda: proxies.urls)
        client = Client(proxies)
        with beside(client.work), ExitStack() as looking:
            for watcher in watchers:
                looking.enter_context(beside(watcher.work))
            leaving = serving(cluster, place, "/story/*", lame_duck_s=3)
            started_at = time.monotonic()
            with leaving:
                for watcher in watchers:
                    watcher.expect(leaving)
                found = [watcher.await_found() for watcher in watchers]
                url = f"http://{leaving.address}/webhdfs/v1"
                _await_answers(client, url, 100)
                stopping = threading.Thread(target=leaving.stop)
                stopped_at = time.monotonic()
                stopping.start()
                gone = [watcher.await_gone() for watcher in watchers]
                stopping.join()
            left = client.answered[url]
            stays = f"http://{staying.address}/webhdfs/v1"
            _await_answers(client, stays, client.answered[stays] + 100)
    rows = tuple(
        Row(watcher.finder.name, found_at - started_at, gone_at - stopped_at, watcher.finder.within_s)
        for watcher, found_at, gone_at in zip(watchers, found, gone, strict=True)
    )
    return Reported(rows, sum(client.answered.values()), left, tuple(client.failures))


def _await_answers(client: Client, url: str, count: int) -> None:
    until(lambda: client.answered[url] >= count, lambda: client.answered)
