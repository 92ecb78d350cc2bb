"""HAProxy with its cache in memory before the NameNode: the quickest of the caches with a time limit.

Debian's package; `apt-get install haproxy`. (bench/servers/haproxy.py)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nncache.bench.servers.running import Running, server
from nncache.testbed.programs import find_program

_CONFIGURATION: Final = """\
global
    nbthread 1
    maxconn 9000
defaults
    mode http
    timeout connect 5s
    timeout client 300s
    timeout server 60s
    timeout http-keep-alive 300s
{cache}
frontend clients
    bind {listen} backlog 4096
    default_backend namenode
backend namenode
    http-reuse always
{caching}
    server namenode {namenode}
"""
_CACHE: Final = """\
cache statuses
    total-max-size 64
    max-age 3600"""
_CACHING: Final = """\
    http-request cache-use statuses
    http-response del-header Expires
    http-response del-header Pragma
    http-response del-header Set-Cookie
    http-response set-header Cache-Control max-age=3600
    http-response cache-store statuses"""


@contextmanager
def haproxy(namenode: str, *, is_cache: bool = True) -> Iterator[Running]:
    """Run one before a NameNode ("host:port") that keeps every 200 for an hour; or none, and balances alone.

    Raises:
        MissingToolError: HAProxy is not installed.
    """
    program = find_program("haproxy")

    def command(place: Path, address: str) -> tuple[str, ...]:
        file = place / "haproxy.cfg"
        text = _CONFIGURATION.format(
            listen=address,
            namenode=namenode,
            cache=_CACHE if is_cache else "",
            caching=_CACHING if is_cache else "",
        )
        file.write_text(text, encoding="utf-8")
        return program, "-db", "-f", str(file)

    with server("haproxy", command) as running:
        yield running
