"""Shares of what is bounded: of connections, and of calls.

Pure. A holder may take one more as long as it holds less than `GREED` times what is left free (the dynamic threshold
of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So one holder alone gets seven eighths, many
holders get equal shares, and a newcomer always finds something free, while a few share it with no other.
"""

from ipaddress import AddressValueError, IPv6Address
from typing import Final

from cachetools import LRUCache

from nncache.net.token_bucket import TokenBucket

GREED: Final = 7
"""A gateway in front of all clients gets 7/8 of everything; two of them get 7/15 each."""

# Within one network a host has as many addresses as it likes (RFC 4291, section 2.5.4).
_IPV6_HOST_BITS: Final = 64

_MAPPED: Final = "::ffff:"
"""How a socket that serves IPv6 and IPv4 writes an address of IPv4 (RFC 4291, section 2.5.5.2)."""


class Shares:
    """Who holds how many.

    Invariants:
        S1  `in_use` is the sum of what all hold, and at most `limit`.
        S2  A holder of at least `GREED` times what is free takes no more.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_use = 0
        self._held: dict[str, int] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is free."""
        return self.in_use >= self.limit

    def held(self, holder: str) -> int:
        """Return how many it holds."""
        return self._held.get(holder, 0)

    def take(self, holder: str) -> bool:
        """Take one; false if the holder has its share, or nothing is free."""
        held = self._held.get(holder, 0)
        if held >= GREED * (self.limit - self.in_use):
            return False
        self._held[holder] = held + 1
        self.in_use += 1
        return True

    def give_back(self, holder: str) -> None:
        """Give one back that was taken."""
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
    """What each holder may use in a second, with a bucket for bursts; the least recent are forgotten beyond MAX."""

    MAX: Final = 4_096

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(self.MAX)

    def take(self, holder: str, now: float, amount: float = 1.0) -> float:
        """Charge a holder; return 0, or after how many seconds so much is left, if it is not now."""
        bucket = self._buckets.get(holder)
        if bucket is None:
            bucket = self._buckets[holder] = TokenBucket(self._per_s, self._burst, now)
        if bucket.left(now) < amount:
            return max(bucket.ready_at(amount) - now, 1 / self._per_s)
        bucket.charge(amount, now)
        return 0.0

    def charge(self, holder: str, now: float, amount: float) -> None:
        """Charge a holder that was charged before for more, whatever is left."""
        if (bucket := self._buckets.get(holder)) is not None:
            bucket.charge(amount, now)

    def give_back(self, holder: str, now: float) -> None:
        """Give back what was charged."""
        self.charge(holder, now, -1.0)


def without_mapping(address: str) -> str:
    """Return the address that a socket has given, one of IPv4 as such."""
    return address.removeprefix(_MAPPED) if "." in address else address


def holder_of(address: str) -> str:
    """Return under which name a client's address takes its share: of IPv6 the network of 64 bits."""
    if ":" not in (address := without_mapping(address)):
        return address
    try:
        network = int(IPv6Address(address.partition("%")[0])) >> _IPV6_HOST_BITS
    except AddressValueError:
        return address
    return f"{IPv6Address(network << _IPV6_HOST_BITS)}/{_IPV6_HOST_BITS}"
