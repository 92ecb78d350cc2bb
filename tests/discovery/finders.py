"""All ways to find a proxy by name, each as its users use it."""

import http.client
import json
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import dns.resolver

import nncache
from nncache.net.endpoint import parse_endpoint
from nncache.registry.daemon_record import PLACE
from nncache.registry.paths import name_of
from nncache.testbed.daemon import ProxyDaemon
from tests.patience import HANG_S
from tests.processes import free_address, running
from tools.prometheus import Prometheus

DOMAIN: Final = "registry.example"

WITHIN_S: Final = 2.0
"""The time in seconds by which a drained proxy must be gone."""

PROMETHEUS_OWN_S: Final = 5.0
"""Prometheus's own delay: it applies discovered targets every 5 s (discovery.Manager of Prometheus 2.42)."""


@dataclass(frozen=True, slots=True)
class Finder:
    """One way to find proxies."""

    name: str  # as printed
    look: Callable[[], Collection[str]]  # returns the proxies found now
    shows: Callable[[ProxyDaemon], str]  # how a proxy appears among them
    within_s: float = WITHIN_S  # by when a drained proxy must be gone
    every_s: float = 0.01  # an address may send 20 requests a second, and a subtree counts as ten


@dataclass(frozen=True, slots=True)
class Place:
    """The registry to search, and a proxy that serves it."""

    registry: dict[str, str]  # the registry's settings
    staying: ProxyDaemon  # a proxy that serves the registry throughout

    def get(self, target: str, own_address: str) -> object:
        """Return a document of the staying proxy, requested from `own_address`, which has a rate limit of its own."""
        connection = http.client.HTTPConnection(
            self.staying.address, timeout=HANG_S, source_address=(own_address, 0)
        )
        try:
            connection.request("GET", target)
            reply = connection.getresponse()
            assert reply.status == http.client.OK, (reply.status, reply.read())
            return json.loads(reply.read())
        finally:
            connection.close()


MakesFinder: TypeAlias = Callable[[Place], AbstractContextManager[Finder]]


@contextmanager
def python_client(place: Place) -> Iterator[Finder]:
    """`nncache.connect`."""
    with nncache.connect(**place.registry) as proxies:
        yield Finder(
            "nncache.connect", lambda: proxies.urls, lambda proxy: f"http://{proxy.address}/webhdfs/v1"
        )


@contextmanager
def over_rest(place: Place) -> Iterator[Finder]:
    """`GET /v1/registry`."""

    def look() -> Collection[str]:
        found = place.get(f"/v1/registry{PLACE}?list", "127.0.0.2")
        assert isinstance(found, dict)
        return [name_of(each["path"]) for each in found["entries"]]

    def shows(proxy: ProxyDaemon) -> str:
        host, _, port = proxy.address.rpartition(":")
        return f"proxy-{host.replace('.', '-')}-{port}"

    yield Finder("GET /v1/registry", look, shows, every_s=0.06)


@contextmanager
def http_sd(place: Place) -> Iterator[Finder]:
    """The HTTP service discovery that Prometheus requests."""

    def look() -> Collection[str]:
        found = place.get(f"/v1/registry{PLACE}?format=prometheus", "127.0.0.3")
        assert isinstance(found, list)
        return [target for group in found for target in group["targets"]]

    yield Finder("what Prometheus asks", look, lambda proxy: proxy.admin, every_s=0.6)


@contextmanager
def prometheus(place: Place) -> Iterator[Finder]:
    """The targets that a real Prometheus scrapes."""
    url = f"http://{place.staying.address}/v1/registry/services?format=prometheus"
    quick = ("--scrape.discovery-reload-interval=100ms",)
    with Prometheus((), interval="1s", discovered_at=url, flags=quick) as server:
        within_s = WITHIN_S + PROMETHEUS_OWN_S
        yield Finder("Prometheus", server.targets, lambda proxy: proxy.admin, within_s)


@contextmanager
def over_dns(place: Place) -> Iterator[Finder]:
    """The SRV records of `nncache dns`, resolved by dnspython."""
    address = free_address()
    zone = ("--domain", DOMAIN, "--dns-listen", address, "--dns-ttl-s", "0")
    registry = (
        "--zookeeper",
        place.registry["zookeeper"],
        "--registry-root",
        place.registry["registry_root"],
    )
    endpoint = parse_endpoint("dns_listen", address)
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = [endpoint.host], endpoint.port

    def look() -> Collection[str]:
        try:
            answer = resolver.resolve(f"_webhdfs._tcp.nncache.services.{DOMAIN}", "SRV", lifetime=HANG_S)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer, dns.resolver.NoNameservers):
            return ()  # NoNameservers: `nncache dns` has not read the registry yet
        return [str(each.port) for each in answer]

    with (
        tempfile.TemporaryDirectory() as scratch,
        running("dns", *zone, *registry, "--admin", free_address(), log=Path(scratch, "log")),
    ):
        yield Finder("DNS", look, lambda proxy: proxy.address.rpartition(":")[2])


FINDERS: Final[tuple[MakesFinder, ...]] = (python_client, over_rest, over_dns, http_sd, prometheus)
"""A new way is one more function here."""
