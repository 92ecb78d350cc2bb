"""Unmodified HTTP clients of other projects, with only the URL changed: directly, and through balancers.

Each polls one status 60 times and then makes 60 writes, half of them POSTs, which no client retries. All succeed, polls
are hits from the second on, and limits and logs use the client's address.
"""

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import hdfs
import pytest

from nncache.testbed import Cluster
from nncache.testbed.jars import HTTP_CLIENTS, java, resolve
from tests.clients.ways import WAYS, Ways, give_up, hits, need
from tests.cluster import make_directory, settle, webhdfs
from tests.patience import HANG_S

COUNT: Final = 60
PROGRAMS: Final = Path(__file__).parent / "programs"
APACHE: Final = "5.4.1"
AIRFLOW: Final = "apache-airflow-providers-apache-hdfs"
AIRFLOWS: Final = "Airflow's sensor"
"""Airflow's sensor, which requests the root before each poll and before each write."""


def _airflow() -> tuple[str, ...]:
    try:
        importlib.metadata.version(AIRFLOW)
    except importlib.metadata.PackageNotFoundError:
        give_up(f"{AIRFLOW} is not installed: remove .venv/.installed, then make test")
    return sys.executable, str(PROGRAMS / "client_airflow.py")


def _java(name: str) -> tuple[str, ...]:
    jars = os.pathsep.join(map(str, resolve(APACHE, pom_file=HTTP_CLIENTS)))
    return java(), "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", jars, str(PROGRAMS / name)


CLIENTS: Final[dict[str, Callable[[], tuple[str, ...]]]] = {
    "the JDK's HttpClient": lambda: _java("JdkClient.java"),
    "Apache HttpClient 5.4": lambda: _java("ApacheClient.java"),
    "OkHttp": lambda: _java("OkHttpClient4.java"),
    "Ruby's Net::HTTP": lambda: (need("ruby"), str(PROGRAMS / "client.rb")),
    "Node's http": lambda: (need("node"), str(PROGRAMS / "client.js")),
    "Go's net/http": lambda: (need("go"), "run", str(PROGRAMS / "client.go")),
    AIRFLOWS: _airflow,
    "Python's urllib": lambda: (sys.executable, str(PROGRAMS / "client_urllib.py")),
}


@pytest.mark.timeout(6 * HANG_S)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_as_it_comes_is_answered_from_memory(cluster: Cluster, ways: Ways, client: str) -> None:
    """They send `Upgrade`: envoy #36305 and dropwizard #9597 (Apache), light-4j #1900 and jetty #6593 (JDK)."""
    command = CLIENTS[client]()
    taken = [ways(name) for name in WAYS]
    roots = [f"/c/{''.join(filter(str.isalnum, client))}-{way.name}" for way in taken]
    for root in roots:
        make_directory(cluster, root)
        for name in ("f", "g"):
            hdfs.InsecureClient(f"http://{cluster.namenodes[0].http}", user="alice").write(
                f"{root}/{name}", b""
            )
    urls = [f"http://{way.address}/webhdfs/v1{root}" for way, root in zip(taken, roots, strict=True)]
    proxies = {way.proxy for way in taken}
    for proxy in proxies:
        settle(cluster, proxy)
    before = sum(map(hits, proxies))
    done = subprocess.run(
        [*command, str(COUNT), *urls],
        env={**os.environ, "CGO_ENABLED": "0", "GOPROXY": "off", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * HANG_S,  # Go compiles its standard library first
    )
    assert done.returncode == 0, done.stderr
    right = dict(zip(WAYS, done.stdout.splitlines(), strict=True))
    assert right == dict.fromkeys(WAYS, f"{COUNT} {COUNT}"), done.stderr
    for way, root in zip(taken, roots, strict=True):
        status, body = webhdfs(cluster, "GET", root, "LISTSTATUS")
        assert (status, body.count(b'"pathSuffix":"w')) == (200, COUNT // 2)
        way.assert_clients_are_seen(f"{root}/", 2 * COUNT)
    assert sum(map(hits, proxies)) - before >= len(urls) * (COUNT - 1) * (2 if client == AIRFLOWS else 1)
