"""What servers say of themselves is understood."""

import pytest

from nncache.bench.servers.progress import Progress, of_nginx, of_nncache

PAGE = """\
Active connections: 65 
server accepts handled requests
 1045 1045 987654 
Reading: 0 Writing: 1 Waiting: 64 
"""  # noqa: W291 - as nginx 1.22 writes it


def test_a_page_of_nginx() -> None:
    """Requests, and connections that are open."""
    assert of_nginx(PAGE) == Progress(answered=987_654, connections=65)


def test_any_other_page_is_an_error() -> None:
    """And no progress of nothing."""
    with pytest.raises(ValueError, match="404 Not Found"):
        of_nginx("404 Not Found")


def test_metrics_of_nncache() -> None:
    """Hits alone; what was forwarded is none."""
    metrics = {
        'nncache_requests_total{result="hit"}': 990.0,
        "nncache_requests_total": 1_000.0,
        "nncache_connections_open": 7.0,
        "nncache_cache_entries": 11.0,
    }
    assert of_nncache(metrics) == Progress(answered=990, connections=7, entries=11)
