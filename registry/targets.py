"""What Prometheus scrapes, of what is registered. (registry/targets.py)

The form is that of its HTTP service discovery (Prometheus 2.28, `http_sd_config`).
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from nncache.registry.entry import Entry
from nncache.registry.paths import name_of
from nncache.registry.record import Address

METRICS_API: Final = "org.prometheus.metrics"
"""The `api` of an endpoint with metrics; its addresses are URIs, or hosts with ports."""


def targets_of(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """Yield a group of targets for each address of an endpoint of METRICS_API."""
    for entry in entries:
        for endpoint in entry.record.endpoints:
            if endpoint.api == METRICS_API:
                for address in endpoint.addresses:
                    yield from _group(entry.path, address)


def _group(path: str, address: Address) -> Iterator[dict[str, Any]]:
    labels = {"__meta_registry_path": path, "__meta_registry_name": name_of(path)}
    uri = address.get("uri")
    if uri:
        parts = urlsplit(uri)
        if parts.netloc:
            labels |= {"__scheme__": parts.scheme, "__metrics_path__": parts.path or "/metrics"}
            yield {"targets": [parts.netloc], "labels": labels}
        return
    host, port = address.get("host") or address.get("hostname"), address.get("port")
    if host and port:
        yield {"targets": [f"{host}:{port}"], "labels": labels}
