"""Log shippers whose file others poll: lines arrive once and in order, and no poll sees an older length.

No available registry has the plugins, so the tests send the requests that their source code sends.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

import hdfs
import pytest
import requests

from nncache.testbed import Cluster
from tests.clients.test_unmodified_clients import PROGRAMS
from tests.clients.ways import Way, hits, need
from tests.patience import HANG_S, until

ROUNDS: Final = 6


@contextmanager
def shipper(kind: str, url: str) -> Iterator[tuple[IO[str], IO[str]]]:
    """Run a shipper; a line written to it is shipped a hundred times, and its output says how."""
    program = (need("ruby"), str(PROGRAMS / "log_writers.rb"), kind, url)
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield running.stdin, running.stdout
        running.stdin.close()
    assert running.returncode == 0


@pytest.mark.parametrize("kind", ["logstash", "fluentd"])
def test_what_is_shipped_is_there(cluster: Cluster, way: Way, kind: str) -> None:
    """The first chunk creates the file, the others are appended. Polls are hits once the file is closed."""
    path, shipped = f"/c/{kind}-{way.name}.log", ""
    url = f"http://{way.address}/webhdfs/v1{path}"
    session = requests.Session()

    def poll() -> bool:
        """Check the length; return whether it came from memory."""
        reply = session.get(url, params={"op": "GETFILESTATUS", "user.name": "bob"}, timeout=HANG_S)
        assert (reply.json()["FileStatus"]["length"] if shipped else reply.status_code) == (
            len(shipped) or 404
        )
        return reply.headers["Cache-Status"] == "nncache; hit"

    until(poll)
    with shipper(kind, url) as (lines, output):
        for number in range(ROUNDS):
            line, before = f"{kind} {number}\n", hits(way.proxy)
            lines.write(line)
            lines.flush()
            assert output.readline() == ("appended\n" if number else "created\n")
            assert hits(way.proxy) == before
            shipped += line * 100
            until(poll)
    with hdfs.InsecureClient(f"http://{cluster.namenodes[0].http}", user="alice").read(path) as reader:
        assert reader.read() == shipped.encode()
    way.assert_clients_are_seen(path, 2 * ROUNDS)
