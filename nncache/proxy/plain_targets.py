"""What the target of a plain call asks for.

It is read by the same functions as on the ordinary path; what is read again and again is remembered: targets of what
is never kept, and of GETFILESTATUS, whose paths are many, the queries.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from nncache.hadoop.calls import (
    PlainArguments,
    StatusRequest,
    parse_call,
    parse_plain,
    plain_arguments,
    plain_request,
)
from nncache.hadoop.effects import changes_nothing
from nncache.proxy.cache_status import Bypass, why_not_asked
from nncache.proxy.credentials import Credential, authentication_of
from nncache.proxy.identity import claimed_caller
from nncache.proxy.targets import is_webhdfs
from nncache.proxy.traffic import GETFILESTATUS, operation_name

MAX_TARGETS: Final = 2_048
"""Targets whose meaning is remembered; the one that was read again last stays longest."""

MAX_QUERIES: Final = 1_024
"""Queries whose meaning is remembered: as many callers, whatever they ask about."""

_MAX_KEPT_TARGET: Final = 512  # characters
_MAX_KEPT_QUERY: Final = 128


@dataclass(slots=True)
class PlainTarget:
    """What a target asks for, if that changes nothing.

    Attributes:
        text: itself.
        plain: what it is if it is a plain GETFILESTATUS; the cache says what becomes of that.
        why_not_asked: why the cache is not asked about anything else.
        caller: who asks, as the target says.
        doas: for whom.
        operation: its name.
        token: what authenticates a plain GETFILESTATUS, if its target says that.
    """

    text: str
    plain: StatusRequest | None
    why_not_asked: Bypass
    caller: str
    doas: str | None
    operation: str = GETFILESTATUS
    token: Credential | None = None


@dataclass(frozen=True, slots=True)
class _Asker:
    """What the query of a plain GETFILESTATUS says, and who asks by that."""

    arguments: PlainArguments
    caller: str


class PlainTargets:
    """Reads targets of GETs.

    Invariants:
        T1  `_askers` are queries of plain GETFILESTATUS without a token, at most `MAX_QUERIES`.
    """

    def __init__(self) -> None:
        self._askers: dict[str, _Asker] = {}  # the one that was read first at the beginning

    def read(self, target: str) -> PlainTarget | None:
        """Say what a target consisting of printable ASCII asks for; None if it is for the ordinary path."""
        spelled, _, query = target.partition("?")
        asker = self._askers.get(query)
        if asker is None and "GETFILESTATUS" in query:
            asker = self._learn(query)
        if asker is not None:
            plain = plain_request(spelled, asker.arguments) if is_webhdfs(target) else None
            if plain is not None:
                return _status(target, plain, asker.caller)
        is_open = "%" not in target and "delegation" not in target.lower()
        may_be_kept = is_open and len(target) <= _MAX_KEPT_TARGET
        read = (_meaning_again if may_be_kept else _meaning)(target)
        if read is None or read.plain is None or read.plain.delegation is None:
            return read
        token = authentication_of(read.plain, ())
        if not isinstance(token, Credential):
            return None  # which of the two, or what else, decides there is the NameNode's to say
        read.token = token
        return read

    def _learn(self, query: str) -> _Asker | None:
        """Read a query; None if it is none of those that are remembered."""
        if len(query) > _MAX_KEPT_QUERY:
            return None
        arguments = plain_arguments(query)
        if arguments is None or arguments.delegation is not None:
            return None
        if len(self._askers) >= MAX_QUERIES:
            del self._askers[next(iter(self._askers))]
        asker = self._askers[query] = _Asker(arguments, claimed_caller(arguments))
        return asker

    def check(self) -> None:
        """Assert T1; for tests."""
        assert len(self._askers) <= MAX_QUERIES
        assert all("delegation" not in query and len(query) <= _MAX_KEPT_QUERY for query in self._askers)


def _status(target: str, plain: StatusRequest, caller: str) -> PlainTarget:
    return PlainTarget(target, plain, Bypass.NOT_PLAIN, caller, plain.doas)


def _meaning(target: str) -> PlainTarget | None:
    if not is_webhdfs(target):
        return None
    plain = parse_plain(target)
    if plain is not None:
        return _status(target, plain, claimed_caller(plain))
    call = parse_call("GET", target)
    if not changes_nothing(call):
        return None
    doas = next(iter(call.arguments.get("doas", ())), None)
    return PlainTarget(target, None, why_not_asked(call), claimed_caller(call), doas, operation_name(call))


_meaning_again = lru_cache(MAX_TARGETS)(_meaning)
