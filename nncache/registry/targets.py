"""Prometheus targets made of registered records.

The format is that of Prometheus's HTTP service discovery (Prometheus 2.28, `http_sd_config`). Other clients write the
records, so an address becomes a target only if Prometheus can scrape it by http or https, and only the first ones do.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from nncache.registry.addresses import place_of
from nncache.registry.limits import MAX_ADDRESSES
from nncache.registry.paths import name_of
from nncache.registry.record import Address, RegistryEntry

METRICS_API: Final = "org.prometheus.metrics"
"""The `api` of an endpoint with metrics; its addresses are URIs, or hosts with ports."""

_SCHEMES: Final = frozenset({"", "http", "https"})


def targets_of(entry: RegistryEntry) -> Iterator[dict[str, Any]]:
    """Yield a target group for each address of a record's METRICS_API endpoints; the first `MAX_ADDRESSES` are read."""
    addresses = (
        address
        for endpoint in entry.record.endpoints
        if endpoint.api == METRICS_API
        for address in endpoint.addresses
    )
    for address in islice(addresses, MAX_ADDRESSES):
        yield from _group(entry.path, address)


def _group(path: str, address: Address) -> Iterator[dict[str, Any]]:
    place = place_of(address)
    if place is None or place.scheme not in _SCHEMES:
        return
    labels = {"__meta_registry_path": path, "__meta_registry_name": name_of(path)}
    if place.scheme:
        labels |= {"__scheme__": place.scheme, "__metrics_path__": place.path or "/metrics"}
    yield {"targets": [place.authority], "labels": labels}
