"""Log shippers behind which others poll: what they write is there once and in order, and no poll sees an older length.

Neither plugin comes with the tests, since no registry in reach has them: their requests are those of their sources.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

import hdfs
import pytest
import requests

from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy
from tests.clients.test_unmodified_clients import PROGRAMS, hits, need
from tests.cluster import make_directory
from tests.patience import HANG_S, until
from tests.real.stand import SPARING, proxied

ROUNDS: Final = 6


@pytest.fixture(scope="module")
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    """One that keeps what is written here."""
    with proxied(cluster, "/logs/*", polling=SPARING) as simulation:
        yield simulation.proxy


@contextmanager
def shipper(kind: str, url: str) -> Iterator[tuple[IO[str], IO[str]]]:
    """Run one; a line that is written to it is shipped a hundred times, and it says how."""
    program = (need("ruby"), str(PROGRAMS / "log_writers.rb"), kind, url)
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield running.stdin, running.stdout
        running.stdin.close()
    assert running.returncode == 0


@pytest.mark.parametrize("kind", ["logstash", "fluentd"])
def test_what_is_shipped_is_there(cluster: Cluster, proxy: Proxy, kind: str) -> None:
    """The first chunk makes the file, the others are appended. None of that is a hit; polls are, once it is closed."""
    make_directory(cluster, "/logs")
    path, shipped = f"/logs/{kind}.log", ""
    url = f"http://{proxy.address}/webhdfs/v1{path}"
    session = requests.Session()

    def poll() -> bool:
        """See the right length; return whether it came from memory."""
        reply = session.get(url, params={"op": "GETFILESTATUS", "user.name": "bob"}, timeout=HANG_S)
        assert (reply.json()["FileStatus"]["length"] if shipped else reply.status_code) == (
            len(shipped) or 404
        )
        return reply.headers["Cache-Status"] == "nncache; hit"

    until(poll)
    with shipper(kind, url) as (lines, said):
        for number in range(ROUNDS):
            line, before = f"{kind} {number}\n", hits(proxy)
            lines.write(line)
            lines.flush()
            assert said.readline() == ("appended\n" if number else "created\n")
            assert hits(proxy) == before
            shipped += line * 100
            until(poll)
    with hdfs.InsecureClient(f"http://{cluster.namenodes[0].http}", user="alice").read(path) as reader:
        assert reader.read() == shipped.encode()
