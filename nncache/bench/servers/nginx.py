"""nginx as a cache with a time limit before the NameNode: what one would use without nncache.

Debian's package; `apt-get install nginx-light`. (bench/servers/nginx.py)
"""

import http.client
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from nncache.bench.servers.progress import PAGE_TIMEOUT_S, Progress, of_nginx
from nncache.bench.servers.running import Running, server
from nncache.testbed.certificates import Certificate
from nncache.testbed.errors import MissingToolError

_STATUS: Final = "/nginx_status"
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


def find_nginx() -> str:
    """Return the program; Debian has it where only root looks.

    Raises:
        MissingToolError: nginx is not installed.
    """
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise MissingToolError(
            "nginx is missing: apt-get install nginx-light (or leave it out: --modes direct,nncache)"
        )
    return program


@contextmanager
def nginx(namenode: str, *, valid_s: int | None, certificate: Certificate | None = None) -> Iterator[Running]:
    """Run one before a NameNode ("host:port") that keeps every 200 and 404 for `valid_s` seconds; None: nothing.

    With a certificate it speaks TLS.

    Raises:
        MissingToolError: nginx is not installed.
    """
    program = find_nginx()

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
        yield replace(running, progress=lambda: _progress(running.address))


def _progress(address: str) -> Progress:
    connection = http.client.HTTPConnection(address, timeout=PAGE_TIMEOUT_S)
    try:
        connection.request("GET", _STATUS)
        return of_nginx(connection.getresponse().read().decode())
    finally:
        connection.close()
