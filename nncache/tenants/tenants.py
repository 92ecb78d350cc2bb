"""Requests, hits and calls of the tenants with the largest shares, as counters for Prometheus.

An observer of `nncache.proxy.traffic`. A tenant that gets series of its own starts at zero, and what it asked for
before stays in OTHER: every series only grows, until its tenant loses its place to another one.
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
"""All tenants without series of their own; a user of this name is one of them."""

CANDIDATES: Final = 2 * MAX_SHOWN
"""Tenants whose shares are estimated. One with more than 1/CANDIDATES of the requests is never missed."""

HALF_LIFE_S: Final = 600.0
"""After which a request counts half for the share."""

REPLACED_EVERY_S: Final = 60.0
LEAD: Final = 1.5
"""By how much the share of a newcomer must exceed that of the one that it replaces: equals do not alternate."""

_COUNTER_BYTES: Final = 400
"""A counter without its name: a list of three numbers, and its places in dict and heap; rounded up."""

_FROM_MEMORY: Final = frozenset({Result.HIT, Result.COLLAPSED})
_OF_NAMENODES: Final = frozenset({Result.STORED, Result.FORWARDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStats:
    """Since the start, by tenant; without tenants_by all empty.

    Attributes:
        requests: hits of the fast path are sampled and weighted.
        hits: of these, those that needed no call of their own.
        calls: of these, those that a NameNode answered.
        bytes: memory for it.
    """

    requests: dict[str, int] = field(default_factory=dict)
    hits: dict[str, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    bytes: int = 0


NO_TENANTS: Final = TenantStats()


class Tenants:
    """Counts each request for its tenant.

    Invariants:
        N1  Each request is in the counts of exactly one tenant, or of OTHER.
        N2  At most `shown` tenants have counts; then at most one is replaced in each REPLACED_EVERY_S.
    """

    def __init__(self, name_of: Callable[[Exchange], str], shown: int, clock: Callable[[], float]) -> None:
        """Begin with nothing; `clock` is local time in seconds."""
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
        """Return the figures so far."""
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
        """Assert N2, and that there are series of OTHER once; for tests."""
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
        """Give the place of the tenant with the least share to the one with the largest that has none."""
        found = {each.name: each for each in self._shares.top(CANDIDATES, now)}
        newcomer = next(each for name, each in found.items() if name not in self._counts and name != OTHER)
        weights = {name: found[name].weight if name in found else 0.0 for name in self._counts}
        least = min(weights, key=weights.__getitem__)
        if newcomer.weight - newcomer.error > LEAD * weights[least]:
            del self._counts[least]
            self._counts[newcomer.name] = [0, 0, 0]


def tenants_of(settings: TenantSettings, clock: Callable[[], float]) -> Tenants | None:
    """Return what counts as these settings say; None if nothing does."""
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
    """Return the network of a client's address; what is no IP address is a network of its own."""
    try:
        number = int(IPv4Address(address.removeprefix("::ffff:")))
    except AddressValueError:
        return bounded(holder_of(address))
    hosts = MAX_PREFIX_BITS - bits
    return f"{IPv4Address(number >> hosts << hosts)}/{bits}" if hosts else str(IPv4Address(number))
