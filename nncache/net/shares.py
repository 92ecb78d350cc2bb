"""Shares of bounded resources: connections and calls.

Pure. A holder may take another unit while it holds less than `GREED` times the free units (the dynamic threshold of
Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So a single holder gets seven eighths, many
holders get equal shares, and while there are few holders a new one always finds a free unit.
"""

from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from cachetools import LRUCache

from nncache.net.token_bucket import TokenBucket

GREED: Final = 7
"""A gateway in front of all clients gets 7/8 of all units; two gateways get 7/15 each."""

# Within one network a host has as many addresses as it likes (RFC 4291, section 2.5.4).
_IPV6_HOST_BITS: Final = 64

_MAPPED: Final = "::ffff:"
"""Prefix of an IPv4 address on a dual-stack socket (RFC 4291, section 2.5.5.2)."""


class Shares:
    """The number of units that each holder has.

    Invariants:
        S1  `in_use` is the sum of all holders' units, and at most `limit`.
        S2  A holder of at least `GREED` times the free units takes no more.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_use = 0
        self._held: dict[str, int] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether no unit is free."""
        return self.in_use >= self.limit

    def held(self, holder: str) -> int:
        """Return the number of units that a holder has."""
        return self._held.get(holder, 0)

    def take(self, holder: str) -> bool:
        """Take a unit; false if the holder has used up its share, or no unit is free."""
        held = self._held.get(holder, 0)
        if held >= GREED * (self.limit - self.in_use):
            return False
        self._held[holder] = held + 1
        self.in_use += 1
        return True

    def give_back(self, holder: str) -> None:
        """Return a unit that was taken."""
        self.in_use -= 1
        left = self._held[holder] - 1
        if left:
            self._held[holder] = left
        else:
            del self._held[holder]

    def check(self) -> None:
        """Assert the invariants that hold at any time."""
        assert self.in_use == sum(self._held.values()) <= self.limit
        assert all(count > 0 for count in self._held.values())


class Rates:
    """A token bucket for each holder; beyond MAX the least recently used are dropped."""

    MAX: Final = 4_096

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(self.MAX)

    def take(self, holder: str, now: float, amount: float = 1.0) -> float:
        """Charge a holder and return 0; or return the seconds after which this amount will be available."""
        bucket = self._buckets.get(holder)
        if bucket is None:
            bucket = self._buckets[holder] = TokenBucket(self._per_s, self._burst, now)
        if bucket.left(now) < amount:
            return max(bucket.ready_at(amount) - now, 1 / self._per_s)
        bucket.charge(amount, now)
        return 0.0

    def charge(self, holder: str, now: float, amount: float) -> None:
        """Charge a holder an additional amount, even beyond what is available."""
        if (bucket := self._buckets.get(holder)) is not None:
            bucket.charge(amount, now)

    def give_back(self, holder: str, now: float) -> None:
        """Refund an amount that was charged."""
        self.charge(holder, now, -1.0)


def without_mapping(address: str) -> str:
    """Return a socket's peer address; an IPv4-mapped IPv6 address as IPv4."""
    return address.removeprefix(_MAPPED) if "." in address else address


@lru_cache(4_096)  # of one client's connections and calls, one after the other
def holder_of(address: str) -> str:
    """Return the holder's name of a client's address: for IPv6 its /64 network."""
    if ":" not in (address := without_mapping(address)):
        return address
    try:
        network = int(IPv6Address(address.partition("%")[0])) >> _IPV6_HOST_BITS
    except AddressValueError:
        return address
    return f"{IPv6Address(network << _IPV6_HOST_BITS)}/{_IPV6_HOST_BITS}"
