"""What nncache is measured beside: HAProxy with its cache in memory, and the floor. (bench/request_cost/servers.py)"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from nncache.bench.servers.running import Running
from nncache.testbed.errors import MissingToolError
from nncache.testbed.ports import PortLease
from nncache.testbed.process import Lifeline, ServerProcess
from nncache.testbed.readiness import accepts

_HAPROXY: Final = """\
global
    nbthread 1
    maxconn 9000
defaults
    mode http
    timeout connect 5s
    timeout client 300s
    timeout server 60s
    timeout http-keep-alive 300s
cache statuses
    total-max-size 64
    max-age 3600
frontend clients
    bind {listen} backlog 4096
    default_backend namenode
backend namenode
    http-request cache-use statuses
    http-response del-header Expires
    http-response del-header Pragma
    http-response del-header Set-Cookie
    http-response set-header Cache-Control max-age=3600
    http-response cache-store statuses
    server namenode {namenode}
"""


@contextmanager
def haproxy(namenode: str) -> Iterator[Running]:
    """Run one before a NameNode ("host:port") that keeps every 200 for an hour.

    Raises:
        MissingToolError: it is not installed.
    """
    program = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise MissingToolError("haproxy is missing: apt-get install haproxy")
    with _place() as (place, address):
        file = place / "haproxy.cfg"
        file.write_text(_HAPROXY.format(listen=address, namenode=namenode), encoding="utf-8")
        yield from _running("haproxy", (program, "-db", "-f", str(file)), place, address)


@contextmanager
def floor(namenode: str) -> Iterator[Running]:
    """Run the floor before a NameNode ("host:port")."""
    with _place() as (place, address):
        host, _, port = address.rpartition(":")
        command = (sys.executable, "-m", "nncache.bench.request_cost.floor", host, port, namenode)
        yield from _running("floor", command, place, address)


@contextmanager
def _place() -> Iterator[tuple[Path, str]]:
    with tempfile.TemporaryDirectory(prefix="nncache-http-") as place, PortLease() as ports:
        yield Path(place), f"127.0.0.1:{ports.take()}"


def _running(name: str, command: tuple[str, ...], place: Path, address: str) -> Iterator[Running]:
    with ExitStack() as close:
        lifeline = Lifeline(place / "guard.lock", None)
        close.callback(lifeline.close)
        is_up: Callable[[], bool] = lambda: accepts(address)  # noqa: E731 - named for its type
        process = ServerProcess(
            name,
            command,
            log=place / "log",
            environ=os.environ,
            lifeline=lifeline,
            is_up=is_up,
            timeout_s=20.0,
        )
        close.callback(process.stop)
        process.start()
        assert process.pid is not None
        yield Running(address=address, processes={name: process.pid})
