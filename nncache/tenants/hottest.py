"""The paths, callers and addresses with the most requests in the last minutes.

An observer of `nncache.proxy.traffic`. Of a target's query only the names of users are kept.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.calls import StatusRequest, WebHdfsCall, parse_call, parse_plain
from nncache.hadoop.credentials import parse_delegation_token
from nncache.net.sampling import MAX_EVERY, Sampler
from nncache.proxy.identity import claim_of, claimed_caller
from nncache.proxy.traffic import GETFILESTATUS, Exchange
from nncache.tenants.space_saving import SpaceSaving

COUNTERS: Final = 256
"""Counters of each kind. A count is too high by at most 1/256 of all requests; no larger share is missed."""

HALF_LIFE_S: Final = 60.0
MAX_NAME_BYTES: Final = 256
"""A longer name is replaced by its beginning and a digest."""

_DIGEST_BYTES: Final = 6
_KEPT_BYTES: Final = MAX_NAME_BYTES - 2 * _DIGEST_BYTES - len("…#".encode())

NO_PATH: Final = "(no path)"
"""Stands for a target that is not certainly a WebHDFS path."""
NO_CALLER: Final = "(not named)"
"""Stands for a caller that the request does not name: the NameNode's static user, or the holder of a ticket."""


@dataclass(frozen=True, slots=True)
class Hot:
    """A name, its requests per second, and the maximum error of that rate, which may be too high."""

    name: str
    per_s: float
    error_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HottestStats:
    """The names with the most requests of each kind, in descending order."""

    paths: tuple[Hot, ...]
    callers: tuple[Hot, ...]
    addresses: tuple[Hot, ...]


class Hottest:
    """Counts requests by path, caller and address; at a high rate, a sample of them."""

    def __init__(
        self, clock: Callable[[], float], *, counters: int = COUNTERS, max_sample_every: int = MAX_EVERY
    ) -> None:
        """Begin with no counts; `clock` returns local time in seconds."""
        self._clock = clock
        self._sampler = Sampler(max_sample_every)
        self._singles = 0  # requests that are not samples
        self._next_single = 1  # the number of the next one to count
        self._began_at = now = clock()
        self._paths, self._callers, self._addresses = (
            SpaceSaving(counters, half_life_s=HALF_LIFE_S, now=now) for _ in range(3)
        )

    def answered(self, exchange: Exchange) -> None:
        """Count a request with its weight."""
        weight = exchange.weight
        if weight == 1:  # the others are samples already
            self._singles += 1
            if self._singles < self._next_single:
                return
        now = self._clock()
        if weight == 1:
            weight = self._sampler.every
            self._next_single = self._sampler.next(self._singles, now)
        path, caller = _path_and_caller(exchange)
        self._paths.add(path, weight, now)
        self._callers.add(caller, weight, now)
        self._addresses.add(bounded(exchange.peer), weight, now)

    def stats(self, number: int) -> HottestStats:
        """Return at most this many names of each kind."""
        now = self._clock()
        # The decayed weight of one request per second since start.
        lasted = (now - self._began_at) / HALF_LIFE_S
        full = HALF_LIFE_S / math.log(2) * (1 - math.exp2(-lasted))
        paths, callers, addresses = (
            tuple(
                Hot(each.name, each.weight / max(full, 1.0), each.error / max(full, 1.0))
                for each in counted.top(number, now)
            )
            for counted in (self._paths, self._callers, self._addresses)
        )
        return HottestStats(paths=paths, callers=callers, addresses=addresses)


def caller_name(exchange: Exchange) -> str:
    """Return the caller in Hadoop's notation, as far as known, in at most MAX_NAME_BYTES."""
    return bounded(_shown(exchange.caller)) if exchange.caller else _path_and_caller(exchange)[1]


def _path_and_caller(exchange: Exchange) -> tuple[str, str]:
    plain = parse_plain(exchange.target) if exchange.operation == GETFILESTATUS else None
    call = plain or parse_call(exchange.method, exchange.target)
    return bounded(call.path or NO_PATH), bounded(
        _shown(exchange.caller or claimed_caller(call) or _owner(call))
    )


def _owner(call: WebHdfsCall | StatusRequest) -> str:
    """Return the claim for the owner of a delegation token; "" without a readable token."""
    given = (
        next(iter(call.arguments.get("delegation", ())), "")
        if isinstance(call, WebHdfsCall)
        else call.delegation
    )
    token = parse_delegation_token(given) if given else None
    return "" if token is None else claim_of(token.owner, None)


def _shown(claim: str) -> str:
    """Return the user of a claim in Hadoop's notation: `ann via joe` if joe impersonates her."""
    if not claim:
        return NO_CALLER
    user, doas = "", ""
    for part in claim.split("\0"):
        key, is_named, value = part.partition("=")
        if not is_named:
            return f"#{claim}"  # too long: the digest of it
        if key == "doas":
            doas = value
        else:
            user = value
    return user if not doas else f"{doas} via {user or NO_CALLER}"


def bounded(name: str) -> str:
    """Return the name in at most MAX_NAME_BYTES of UTF-8; bytes that are not UTF-8 become escapes."""
    if len(name) <= MAX_NAME_BYTES and name.isascii():
        return name
    text = name.encode(errors="backslashreplace")
    if len(text) <= MAX_NAME_BYTES:
        return text.decode()
    digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()
    return text[:_KEPT_BYTES].decode(errors="ignore") + "…#" + digest
