"""Caches with a time limit in front of the NameNode, the alternatives to nncache.

They are Debian's packages; `apt-get install nginx-light haproxy`. (bench/servers/caches.py)
"""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import jinja2

from nncache.bench.servers.counters import page_of
from nncache.bench.servers.running import RunningServer, ServerProgress, server
from nncache.testbed.certificates import Certificate
from nncache.testbed.programs import find_program

_CONFIGURATIONS: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=False,  # noqa: S701 - no HTML
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)
_STATUS: Final = "/nginx_status"


def nginx(
    namenode: str, *, valid_s: int | None, certificate: Certificate | None = None
) -> AbstractContextManager[RunningServer]:
    """Run nginx in front of a NameNode ("host:port"). It caches each 200 and 404 for `valid_s` seconds; None: no cache.

    With a certificate it serves TLS.
    """
    program = find_program("nginx")

    def command(place: Path, address: str) -> tuple[str, ...]:
        file = _written(
            "nginx.conf",
            place,
            is_root=os.geteuid() == 0,
            place=place,
            listen=address,
            namenode=namenode,
            certificate=certificate,
            status=_STATUS,
            valid_s=valid_s,
        )
        return program, "-p", str(place), "-e", "stderr", "-c", file

    return server("nginx", command, lambda address: progress_of(page_of(address, _STATUS)))


def haproxy(namenode: str) -> AbstractContextManager[RunningServer]:
    """Run HAProxy in front of a NameNode ("host:port"). It caches each 200 for an hour."""
    program = find_program("haproxy")

    def command(place: Path, address: str) -> tuple[str, ...]:
        file = _written("haproxy.cfg", place, listen=address, namenode=namenode)
        return program, "-db", "-f", file

    return server("haproxy", command)


def _written(name: str, directory: Path, **values: object) -> str:
    """Render the template NAME.j2 to a configuration file in a directory; return its path."""
    text = _CONFIGURATIONS.get_template(f"{name}.j2").render(values)
    (directory / name).write_text(text, encoding="utf-8")
    return str(directory / name)


def progress_of(page: str) -> ServerProgress:
    """Parse the page of nginx's ngx_http_stub_status_module.

    `Active connections: 1 server accepts handled requests 7 7 9 Reading: 0 Writing: 1 Waiting: 0`
    """
    words = page.split()
    return ServerProgress(answered=int(words[9]), connections=int(words[2]))
