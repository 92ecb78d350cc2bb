"""Answers DNS messages from a zone.

Sans-I/O: bytes in, bytes out. dnspython parses and encodes the messages. Sources: RFC 1035; RFC 2308 (negative
answers), RFC 6891 (EDNS), RFC 8482 (ANY), RFC 9619 (one question).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final, assert_never

import dns.message
from cachetools import LRUCache
from dns.exception import DNSException
from dns.flags import AA, QR, TC
from dns.message import CopyMode, Message
from dns.name import Name
from dns.name import from_text as name_of
from dns.opcode import QUERY
from dns.rcode import BADVERS, FORMERR, NOTIMP, NXDOMAIN, REFUSED, SERVFAIL, Rcode, to_text
from dns.rdata import Rdata, get_rdata_class
from dns.rdataclass import ANY as ANY_CLASS
from dns.rdataclass import IN
from dns.rdatatype import AAAA, ANY, AXFR, IXFR, NS, PTR, SOA, SRV, TXT, A, RdataType, is_metatype
from dns.rrset import RRset, from_rdata_list

from nncache.registry.dns_names import Labels
from nncache.registry.dns_records import Data, PtrRecord, SrvRecord, TxtRecord
from nncache.registry.dns_zone import Zone

UDP_BYTES: Final = 1232
"""The largest answer over UDP that no network fragments (DNS flag day 2020)."""

PLAIN_UDP_BYTES: Final = 512  # without EDNS (RFC 1035, section 2.3.4)

TCP_BYTES: Final = 65_535

MAX_QUERY_BYTES: Final = 4_096  # of a message with one question; no valid one needs nearly as much

MAX_RRSET: Final = 256
"""Records of one name and type in an answer; if there are more, the oldest ones."""

LEAST_BYTES: Final = 13
"""The least size of a record in an answer. It shows before encoding that an answer is too large."""

MAX_TARGETS: Final = 16  # SRV records in an answer that also carries their addresses

MEMO_BYTES: Final = 4 * 1024 * 1024
"""Limit of the answers that are cached until the zone changes; one with 256 records takes several milliseconds."""

_ID_BYTES: Final = 2
_SERIALS: Final = 2**32
_REFRESH_S: Final = 86_400  # of the SOA, for secondary servers; there are none
_RETRY_S: Final = 600
_EXPIRE_S: Final = 86_400

_KINDS: Final[Mapping[RdataType, type[Data]]] = {
    A: IPv4Address,
    AAAA: IPv6Address,
    PTR: PtrRecord,
    SRV: SrvRecord,
    TXT: TxtRecord,
}
_CLASSES: Final[Mapping[RdataType, Callable[..., Rdata]]] = {  # resolved at import, not at the first question
    rdtype: get_rdata_class(IN, rdtype)  # type: ignore[no-untyped-call]  # dnspython's
    for rdtype in (*_KINDS, NS, SOA)
}
_TYPES: Final = {kind: rdtype for rdtype, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneAuthority:
    """The zone's own data."""

    domain: Name  # the zone's name
    name_server: Name  # host name of its server
    ttl_s: int  # how long an answer may be cached, negative ones included
    serial: int  # of the SOA at start; incremented by each change of the zone

    @classmethod
    def of(cls, domain: str, name_server: str, *, ttl_s: int, serial: int) -> "ZoneAuthority":
        """Return the authority for names given as text; both are absolute, with or without a trailing dot."""
        return cls(domain=name_of(domain), name_server=name_of(name_server), ttl_s=ttl_s, serial=serial)

    @property
    def domain_bytes(self) -> int:
        """The size of the domain's name in a message."""
        return len(self.domain.to_wire() or b"")


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer that may be repeated for the same question, with another id."""

    rest: bytes  # all bytes after the id
    rcode: str


class DnsResponder:
    """Answers messages from one zone, and counts the answers."""

    def __init__(self, zone: Zone, authority: ZoneAuthority) -> None:
        self._zone = zone
        self._authority = authority
        # By message without id, is TCP. A message is counted as if it were as long as it may be.
        self._memo: LRUCache[tuple[bytes, bool], _Reply] = LRUCache(
            MEMO_BYTES, getsizeof=lambda reply: UDP_BYTES + len(reply.rest)
        )
        self._memo_of = (-1, False)  # the zone's state to which `_memo` belongs
        self.rcodes: Counter[str] = Counter()
        """Answers since start, by response code."""
        self.unanswered = 0
        """Messages that get no answer: too short, too long, or answers themselves."""

    def reply(self, wire: bytes, is_tcp: bool) -> bytes | None:  # noqa: FBT001 - a Callable
        """Return the answer to a message; None if it gets none."""
        state = (self._zone.changes, self._zone.is_loaded)
        if self._memo_of != state:
            self._memo.clear()
            self._memo_of = state
        key = (wire[_ID_BYTES:], is_tcp)
        known = self._memo.get(key)
        if known is None:
            known = self._made(wire, is_tcp=is_tcp)
            if known is None:
                self.unanswered += 1
                return None
            if len(wire) <= UDP_BYTES:
                self._memo[key] = known
        self.rcodes[known.rcode] += 1
        return wire[:_ID_BYTES] + known.rest

    def _made(self, wire: bytes, *, is_tcp: bool) -> _Reply | None:
        if len(wire) > MAX_QUERY_BYTES:
            return None
        try:
            query = dns.message.from_wire(wire, continue_on_error=True)
        except DNSException:
            return None  # no header
        if query.flags & QR:
            return None  # an answer: two servers must not answer each other endlessly
        most = TCP_BYTES if is_tcp else _udp_bytes(query)
        answer = answer_to(self._zone, self._authority, query, most)
        made = answer.to_wire(max_size=most, prefer_truncation=True)
        return _Reply(made[_ID_BYTES:], to_text(answer.rcode()))


def answer_to(zone: Zone, authority: ZoneAuthority, query: Message, most: int = TCP_BYTES) -> Message:
    """Return the answer to a query; it may be truncated if it exceeds `most` bytes."""
    if query.opcode() != QUERY:
        return _refusal(query, NOTIMP)
    if query.errors or len(query.question) != 1:
        return _refusal(query, FORMERR)
    answer = dns.message.make_response(query, our_payload=UDP_BYTES, pad=0)
    (question,) = query.question
    if query.edns > 0:
        answer.set_rcode(BADVERS)
    elif (
        question.rdclass not in {IN, ANY_CLASS}
        or question.rdtype in {AXFR, IXFR}
        or not question.name.is_subdomain(authority.domain)
    ):
        answer.set_rcode(REFUSED)
    elif question.rdtype != ANY and is_metatype(question.rdtype):
        answer.set_rcode(NOTIMP)
    elif not zone.is_loaded:
        answer.set_rcode(SERVFAIL)
    else:
        _Filling(zone, authority, answer, most).fill(question.name, question.rdtype)
    return answer


class _Filling:
    """Adds the zone's records to an answer."""

    def __init__(self, zone: Zone, authority: ZoneAuthority, answer: Message, most: int) -> None:
        self._zone = zone
        self._authority = authority
        self._answer = answer
        self._most = most

    def fill(self, name: Name, rdtype: RdataType) -> None:
        labels = self._below(name)
        answer = self._answer
        answer.flags |= AA
        if rdtype == ANY:  # one type is enough, and a small answer is of little use for amplification attacks
            rdtype = self._any(labels)
        if not labels and rdtype in {SOA, NS}:
            own = self._soa() if rdtype == SOA else _rdata(NS, self._authority.name_server)
            answer.answer.append(self._rrset(name, [own]))
            return
        found = self._found(labels, rdtype)
        if LEAST_BYTES * len(found) > self._most:
            answer.flags |= TC
        elif found:
            answer.answer.append(self._rrset(name, map(self._rdata, found)))
            if len(found) <= MAX_TARGETS:
                self._add_addresses(found)
        else:
            answer.authority.append(self._rrset(self._authority.domain, [self._soa()]))
            if not self._zone.has(labels):
                answer.set_rcode(NXDOMAIN)

    def _below(self, name: Name) -> Labels:
        place = len(name.labels) - len(self._authority.domain.labels)
        return tuple(label.lower() for label in name.labels[:place])

    def _any(self, labels: Labels) -> RdataType:
        return next((_TYPES[kind] for kind in self._zone.kinds(labels)), ANY) if labels else SOA

    def _found(self, labels: Labels, rdtype: RdataType) -> tuple[Data, ...]:
        kind = _KINDS.get(rdtype)
        return () if kind is None else self._zone.find(labels, kind, MAX_RRSET)

    def _add_addresses(self, found: Iterable[Data]) -> None:
        """Add the addresses of the SRV targets whose names are in this zone."""
        targets = (each.target for each in found if isinstance(each, SrvRecord))
        for target in dict.fromkeys(each for each in targets if isinstance(each, tuple)):
            for rdtype in (A, AAAA):
                addresses = self._found(target, rdtype)
                if addresses:
                    rrset = self._rrset(self._name(target), map(self._rdata, addresses))
                    self._answer.additional.append(rrset)

    def _rrset(self, name: Name, found: Iterable[Rdata]) -> RRset:
        return from_rdata_list(name, self._authority.ttl_s, list(found))

    def _soa(self) -> Rdata:
        """Return the SOA record. There is no mailbox, so it names the host as the responsible person."""
        authority = self._authority
        serial = (authority.serial + self._zone.changes) % _SERIALS
        host, ttl_s = authority.name_server, authority.ttl_s
        return _rdata(SOA, host, host, serial, _REFRESH_S, _RETRY_S, _EXPIRE_S, ttl_s)

    def _rdata(self, data: Data) -> Rdata:
        match data:
            case SrvRecord(port, target):
                return _rdata(SRV, 0, 1, port, self._name(target))  # all have the same priority and weight
            case PtrRecord(target):
                return _rdata(PTR, self._name(target))
            case TxtRecord(strings):
                return _rdata(TXT, strings)
            case IPv4Address():
                return _rdata(A, str(data))
            case IPv6Address():
                return _rdata(AAAA, str(data))
        assert_never(data)

    def _name(self, target: Labels | str) -> Name:
        return name_of(target) if isinstance(target, str) else Name((*target, *self._authority.domain.labels))


def _rdata(rdtype: RdataType, *fields: object) -> Rdata:
    return _CLASSES[rdtype](IN, rdtype, *fields)


def _refusal(query: Message, rcode: Rcode) -> Message:
    """Return an error answer without the question, for a query that cannot be parsed or has another opcode."""
    answer = dns.message.make_response(query, our_payload=UDP_BYTES, pad=0, copy_mode=CopyMode.NOTHING)
    answer.set_rcode(rcode)
    return answer


def _udp_bytes(query: Message) -> int:
    return min(max(query.payload, PLAIN_UDP_BYTES), UDP_BYTES) if query.edns >= 0 else PLAIN_UDP_BYTES
