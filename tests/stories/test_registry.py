"""A proxy is found by name, drained, and gone: a client that uses the registry has no failed request."""

import http.client
import json
import threading
import time
import urllib.request
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

import nncache
from nncache.connecting import Proxies
from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy
from tests.patience import HANG_S

pytestmark = pytest.mark.long  # two proxies and a client beside them

ROOT = "/registry-story"


class Client:
    """Asks for statuses all the while, from whatever proxy the registry names."""

    def __init__(self, proxies: Proxies) -> None:
        self.answered: dict[str, int] = {}  # by URL
        self.failures: list[str] = []
        self._proxies = proxies
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.is_set():
            for _ in range(3):
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
            if status != 200:
                self.failures.append(f"{url}: {status}")
            self.answered[url] = self.answered.get(url, 0) + 1
            return True
        return False


def proxy(cluster: Cluster) -> Proxy:
    """Return a proxy that registers."""
    assert cluster.zookeeper is not None
    return Proxy(
        *("--namenode-http", cluster.namenodes[0].http, "--namenode-rpc", cluster.namenodes[0].rpc),
        *("--user", cluster.superuser, "--glob", "/story/*", "--channel", "direct"),
        *("--zookeeper", cluster.zookeeper.address, "--registry", "--registry-root", ROOT),
        *("--lame-duck-s", "1"),
    )


def until(proxies: Proxies, count: int) -> float:
    """Wait until so many are registered; return how long that took."""
    begun = time.monotonic()
    while len(proxies.urls) != count:
        assert time.monotonic() - begun < HANG_S, proxies.urls
        time.sleep(0.005)
    return time.monotonic() - begun


def targets(address: str) -> list[str]:
    """Return what Prometheus would scrape."""
    with urllib.request.urlopen(f"http://{address}/v1/registry?format=prometheus", timeout=HANG_S) as reply:
        return [target for group in json.loads(reply.read()) for target in group["targets"]]


def test_a_proxy_comes_and_goes(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Found by the Python client and over HTTP; after a drain gone from both, and nothing has failed."""
    assert cluster.zookeeper is not None
    with (
        proxy(cluster) as staying,
        nncache.connect(zookeeper=cluster.zookeeper.address, registry_root=ROOT) as proxies,
    ):
        until(proxies, 1)
        client = Client(proxies)
        with proxy(cluster) as leaving:
            until(proxies, 2)
            url = f"http://{leaving.address}/webhdfs/v1"
            assert len(targets(staying.address)) == 2
            while client.answered.get(url, 0) < 100:
                assert not client.failures
                time.sleep(0.01)
            stopping = threading.Thread(target=leaving.stop)
            stopping.start()
            took_s = until(proxies, 1)
            assert len(targets(staying.address)) == 1
            stopping.join()
        while client.answered.get(f"http://{staying.address}/webhdfs/v1", 0) < 300:
            time.sleep(0.01)
        client.stop()
        assert client.failures == []
    answered = sum(client.answered.values())
    figures = f"gone from the registry {took_s * 1000:.0f} ms after SIGTERM; {answered} requests, none failed"
    with capsys.disabled():
        print(f"\n{figures}")  # noqa: T201 - the figures are what is asked for
