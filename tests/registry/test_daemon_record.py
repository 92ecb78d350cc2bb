"""The records of nncache's own daemons."""

import pytest

from nncache.registry.daemon_record import PROXY, PUBLISHER, WEBHDFS_API, RegisteredDaemon
from nncache.registry.limits import check_record
from nncache.registry.paths import writable
from nncache.registry.record_json import encode_record


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("proxy1.example.com", "proxy-proxy1-example-com-9870"),
        ("PROXY1", "proxy-proxy1-9870"),
        ("10.0.0.7", "proxy-10-0-0-7-9870"),
        ("2001:db8::1", "proxy-2001-db8-1-9870"),
        ("_x_", "proxy-x-9870"),
        ("", "proxy-9870"),
        ("h" * 80, f"proxy-{'h' * 52}-9870"),
        (f"{'h' * 51}.example", f"proxy-{'h' * 51}-9870"),
    ],
)
def test_each_host_and_port_has_a_name(host: str, name: str) -> None:
    """The name is valid for any host."""
    daemon = RegisteredDaemon(kind=PROXY, host=host, port=9870, admin="http://h:1/")
    assert daemon.path == f"/services/nncache/components/{name}"
    assert writable(daemon.path) == daemon.path


def test_a_proxy_offers_webhdfs_and_a_publisher_does_not() -> None:
    """Both have pages and metrics; each record may be bound."""
    proxy = RegisteredDaemon(
        kind=PROXY,
        host="h",
        port=1,
        webhdfs=("http://h:1/webhdfs/v1",),
        admin="http://h:2/",
        about={"a": "b"},
    ).record
    endpoint = proxy.external_endpoint(WEBHDFS_API)
    assert endpoint is not None
    assert endpoint.addresses == ({"uri": "http://h:1/webhdfs/v1"},)
    metrics = proxy.internal_endpoint("org.prometheus.metrics")
    assert metrics is not None
    assert metrics.addresses == ({"uri": "http://h:2/metrics"},)
    assert proxy.attributes == {"nncache:kind": "proxy", "yarn:persistence": "permanent", "a": "b"}
    publisher = RegisteredDaemon(kind=PUBLISHER, host="h", port=2, admin="http://h:2/").record
    assert publisher.external == ()
    assert publisher.external_endpoint(WEBHDFS_API) is publisher.internal_endpoint("x") is None
    for record in (proxy, publisher):
        check_record("/p", record, len(encode_record(record)))
