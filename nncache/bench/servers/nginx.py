"""nginx as a cache with a time limit before the NameNode: what one would use without nncache.

Debian's package; `apt-get install nginx-light`. (bench/servers/nginx.py)
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from nncache.bench.servers.running import Progress, Running, page_of, server
from nncache.testbed.certificates import Certificate
from nncache.testbed.programs import find_program

_STATUS: Final = "/nginx_status"
_ACTIVE: Final = re.compile(r"Active connections: (\d+)")
_HANDLED: Final = re.compile(r"^\s*\d+ \d+ (\d+)\s*$", re.MULTILINE)
_CONFIGURATION: Final = """\
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 40000;
pid {place}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 30000; }}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    proxy_cache_path {place}/cache keys_zone=statuses:32m max_size=1g inactive=1h use_temp_path=off;
    keepalive_requests 100000000;
    keepalive_timeout 300s;
    upstream namenode {{
        server {namenode};
        keepalive 64;
    }}
    server {{
        listen {listen} {tls} backlog=4096;
{certificate}
        location = {status} {{ stub_status; }}
        location / {{
            proxy_pass http://namenode;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
{caching}
        }}
    }}
}}
"""
_CERTIFICATE: Final = """\
        ssl_certificate {certificate.chain};
        ssl_certificate_key {certificate.key};
        ssl_session_cache shared:tls:10m;"""
_CACHING: Final = """\
            proxy_cache statuses;
            proxy_cache_key $request_uri;
            proxy_cache_valid 200 404 {valid_s}s;
            proxy_cache_lock on;
            proxy_ignore_headers Cache-Control Expires Set-Cookie;
            proxy_hide_header Set-Cookie;
            add_header X-Cache-Status $upstream_cache_status always;"""


@contextmanager
def nginx(namenode: str, *, valid_s: int | None, certificate: Certificate | None = None) -> Iterator[Running]:
    """Run one before a NameNode ("host:port") that keeps every 200 and 404 for `valid_s` seconds; None: nothing.

    With a certificate it speaks TLS.

    Raises:
        MissingToolError: nginx is not installed.
    """
    program = find_program("nginx")

    def command(place: Path, address: str) -> tuple[str, ...]:
        text = _CONFIGURATION.format(
            user="user root;" if os.geteuid() == 0 else "",
            place=place,
            namenode=namenode,
            listen=address,
            tls="" if certificate is None else "ssl",
            certificate="" if certificate is None else _CERTIFICATE.format(certificate=certificate),
            status=_STATUS,
            caching="" if valid_s is None else _CACHING.format(valid_s=valid_s),
        )
        (place / "nginx.conf").write_text(text, encoding="utf-8")
        return program, "-p", str(place), "-e", "stderr", "-c", str(place / "nginx.conf")

    with server("nginx", command) as running:
        yield replace(running, progress=lambda: progress_of(page_of(running.address, _STATUS)))


def progress_of(page: str) -> Progress:
    """Read the page of nginx's ngx_http_stub_status_module.

    Raises:
        ValueError: it is another page.
    """
    active, handled = _ACTIVE.search(page), _HANDLED.search(page)
    if active is None or handled is None:
        raise ValueError(f"not a page of stub_status: {page}")
    return Progress(answered=int(handled[1]), connections=int(active[1]))
