"""HTTP clients of other projects, as they come, with nothing changed but the URL: straight, and behind balancers.

Each polls one status 60 times and then makes 60 writes, half of them POSTs, which no client sends a second time. All
are carried out, and from the second poll on the answer comes from memory.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import hdfs
import pytest

from nncache.bench.servers.caches import haproxy, nginx
from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy
from nncache.testbed.jars import HTTP_CLIENTS, java, resolve
from tests.cluster import make_directory, webhdfs
from tests.patience import HANG_S
from tests.real.stand import SPARING, proxied

COUNT: Final = 60
PROGRAMS: Final = Path(__file__).parent / "programs"
APACHE: Final = "5.4.1"
AIRFLOW: Final = "apache-airflow-providers-apache-hdfs"
AIRFLOWS: Final = "Airflow's sensor"
"""It asks for the root before each poll, and before each write."""
REQUIRED: Final = "NNCACHE_REQUIRE_CLIENTS"
"""With this variable set (as in .ci/run), a test that would be skipped fails."""

PACKAGES: Final = {
    "ruby": "ruby",
    "go": "golang-go",
    "node": "nodejs",
    "nginx": "nginx-light",
    "haproxy": "haproxy",
}
"""The package of Debian that brings each program."""


def need(program: str) -> str:
    """Return where a program is; skip the test where it is not installed."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        _give_up(f"{program} is not installed: apt-get install {PACKAGES[program]}")
    return found


def _give_up(reason: str) -> NoReturn:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and {reason}")
    pytest.skip(reason)


def _airflow() -> tuple[str, ...]:
    try:
        importlib.metadata.version(AIRFLOW)
    except importlib.metadata.PackageNotFoundError:
        _give_up(f"{AIRFLOW} is not installed: remove .venv/.installed, then make test")
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


@dataclass(frozen=True, slots=True)
class Ways:
    """A proxy, and the addresses under which clients reach it."""

    proxy: Proxy
    addresses: dict[str, str]


@pytest.fixture(scope="module")
def ways(cluster: Cluster) -> Iterator[Ways]:
    """A proxy; nginx and HAProxy in front of it, each with connections that its clients share."""
    need("nginx")
    need("haproxy")
    with proxied(cluster, "/", "/u/*", "/u/*/*", polling=SPARING) as simulation:
        straight = simulation.proxy.address
        with nginx(straight, valid_s=None) as first, haproxy(straight, is_cache=False) as second:
            yield Ways(
                simulation.proxy, {"straight": straight, "nginx": first.address, "HAProxy": second.address}
            )


@pytest.mark.timeout(6 * HANG_S)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_as_it_comes_is_answered_from_memory(cluster: Cluster, ways: Ways, client: str) -> None:
    """Envoy #36305 and dropwizard #9597 (Apache), light-4j #1900 and jetty #6593 (JDK): they say `Upgrade`."""
    command = CLIENTS[client]()
    roots = [f"/u/{''.join(filter(str.isalnum, client))}-{way}" for way in ways.addresses]
    make_directory(cluster, "/u")
    for root in roots:
        make_directory(cluster, root)
        for name in ("f", "g"):
            hdfs.InsecureClient(f"http://{cluster.namenodes[0].http}", user="alice").write(
                f"{root}/{name}", b""
            )
    urls = [
        f"http://{address}/webhdfs/v1{root}"
        for root, address in zip(roots, ways.addresses.values(), strict=True)
    ]
    before = hits(ways.proxy)
    done = subprocess.run(
        [*command, str(COUNT), *urls],
        env={**os.environ, "CGO_ENABLED": "0", "GOPROXY": "off", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * HANG_S,  # Go compiles its library the first time
    )
    assert done.returncode == 0, done.stderr
    right = dict(zip(ways.addresses, done.stdout.splitlines(), strict=True))
    assert right == dict.fromkeys(ways.addresses, f"{COUNT} {COUNT}"), done.stderr
    for root in roots:
        status, body = webhdfs(cluster, "GET", root, "LISTSTATUS")
        assert (status, body.count(b'"pathSuffix":"w')) == (200, COUNT // 2)
    assert hits(ways.proxy) - before >= len(urls) * (COUNT - 1) * (2 if client == AIRFLOWS else 1)


def hits(proxy: Proxy) -> float:
    """Return how many polls were answered from memory so far."""
    return proxy.metrics()['nncache_requests_total{result="hit"}']
