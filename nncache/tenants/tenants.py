"""Requests, hits and calls of the tenants with the largest shares, as counters for Prometheus.

An observer of `nncache.proxy.traffic`. The series of a tenant start at zero; its earlier requests stay in OTHER. So
every series only grows, until another tenant replaces its tenant.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from nncache.net.shares import holder_of
from nncache.proxy.traffic import Exchange, Result
from nncache.tenants.hottest import bounded, caller_name
from nncache.tenants.settings import MAX_PREFIX_BITS, MAX_SHOWN, TenantSettings
from nncache.tenants.space_saving import SpaceSaving

OTHER: Final = "(other)"
"""The label of all tenants without their own series, and of a user with this name."""

CANDIDATES: Final = 2 * MAX_SHOWN
"""Number of tenants whose shares are estimated. A tenant with more than 1/CANDIDATES of the requests is among them."""

HALF_LIFE_S: Final = 600.0
"""Seconds after which a request counts half in its tenant's share."""

REPLACED_EVERY_S: Final = 60.0
LEAD: Final = 1.5
"""A tenant replaces another if its share is larger by this factor, so that equals do not alternate."""

_COUNTER_BYTES: Final = 400
"""Memory of a counter without its name: a list of three numbers, and slots in dict and heap; rounded up."""

_FROM_MEMORY: Final = frozenset({Result.HIT, Result.COLLAPSED})
_OF_NAMENODES: Final = frozenset({Result.STORED, Result.FORWARDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStats:
    """Counters since start, by tenant; empty without `tenants_by`.

    Attributes:
        requests: requests; hits of the fast path are sampled and weighted.
        hits: requests without a call of their own.
        calls: requests that a NameNode answered.
        bytes: memory of the counters.
    """

    requests: dict[str, int] = field(default_factory=dict)
    hits: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    bytes: int = 0


NO_TENANTS: Final = TenantStats()


class Tenants:
    """Counts the requests of each tenant.

    Invariants:
        N1  Each request is counted for exactly one tenant, or for OTHER.
        N2  At most `shown` tenants have counts. When all are taken, each REPLACED_EVERY_S replaces at most one.
    """

    def __init__(self, name_of: Callable[[Exchange], str], shown: int, clock: Callable[[], float]) -> None:
        """Begin with no counts; `clock` returns local time in seconds."""
        self._name_of = name_of
        self._shown = shown
        self._clock = clock
        self._shares = SpaceSaving(CANDIDATES, half_life_s=HALF_LIFE_S, now=clock())
        self._counts: dict[str, list[int]] = {}  # by tenant: requests, hits, calls
        self._other = [0, 0, 0]
        self._replaces_at = clock() + REPLACED_EVERY_S

    def answered(self, exchange: Exchange) -> None:
        """Count a request with its weight."""
        name, weight, now = self._name_of(exchange), exchange.weight, self._clock()
        self._shares.add(name, weight, now)
        counts = self._counts.get(name)
        if counts is None:
            counts = self._counts_of_unknown(name, now)
        counts[0] += weight
        if exchange.result in _FROM_MEMORY:
            counts[1] += weight
        elif exchange.result in _OF_NAMENODES:
            counts[2] += weight

    def stats(self) -> TenantStats:
        """Return the figures since start."""
        requests, hits, calls = (
            {name: counts[which] for name, counts in (*self._counts.items(), (OTHER, self._other))}
            for which in range(3)
        )
        names = [*self._counts, *(each.name for each in self._shares.top(CANDIDATES, self._clock()))]
        return TenantStats(
            requests=requests,
            hits=hits,
            calls=calls,
            bytes=sum(len(name.encode()) + _COUNTER_BYTES for name in names),
        )

    def check(self) -> None:
        """Assert N2, and that OTHER has its series exactly once; for tests."""
        assert len(self._counts) <= self._shown
        assert OTHER not in self._counts

    def _counts_of_unknown(self, name: str, now: float) -> list[int]:
        if name == OTHER:
            return self._other
        if len(self._counts) < self._shown:
            return self._counts.setdefault(name, [0, 0, 0])
        if now >= self._replaces_at:
            self._replaces_at = now + REPLACED_EVERY_S
            self._replace_one(now)
        return self._counts.get(name, self._other)

    def _replace_one(self, now: float) -> None:
        """Replace the tenant with the smallest share by the one with the largest share among the others."""
        found = {each.name: each for each in self._shares.top(CANDIDATES, now)}
        newcomer = next(each for name, each in found.items() if name not in self._counts and name != OTHER)
        weights = {name: found[name].weight if name in found else 0.0 for name in self._counts}
        least = min(weights, key=weights.__getitem__)
        if newcomer.weight - newcomer.error > LEAD * weights[least]:
            del self._counts[least]
            self._counts[newcomer.name] = [0, 0, 0]


def tenants_of(settings: TenantSettings, clock: Callable[[], float]) -> Tenants | None:
    """Return the counter that the settings select; None without `tenants_by`."""
    match settings.tenants_by:
        case "user":
            return Tenants(caller_name, settings.tenants_shown, clock)
        case "address":
            network = partial(_network_of, bits=settings.tenants_prefix_bits)
            return Tenants(lambda exchange: network(exchange.peer), settings.tenants_shown, clock)
        case "none":
            return None


@lru_cache(1_024)
def _network_of(address: str, bits: int) -> str:
    """Return the network of a client's address: of IPv4 by its bits, of IPv6 the /64; other text as it is."""
    try:
        number = int(IPv4Address(address.removeprefix("::ffff:")))
    except AddressValueError:
        return bounded(holder_of(address))
    hosts = MAX_PREFIX_BITS - bits
    return f"{IPv4Address(number >> hosts << hosts)}/{bits}" if hosts else str(IPv4Address(number))
