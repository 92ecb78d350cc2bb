"""Replies to DNS messages."""

from typing import Any

import dns.message
import dns.rdatatype
import pytest
from dns.edns import GenericOption, OptionType
from dns.flags import AA, QR, RA, RD, TC
from dns.message import Message, make_query
from dns.rcode import BADVERS, FORMERR, NOERROR, NOTIMP, NXDOMAIN, REFUSED, SERVFAIL
from hypothesis import given
from hypothesis import strategies as st

from nncache.registry import dns_answers
from nncache.registry.dns_answers import (
    MAX_QUERY_BYTES,
    MAX_RRSET,
    UDP_BYTES,
    DnsResponder,
    ZoneAuthority,
    answer_to,
)
from nncache.registry.dns_zone import Zone
from nncache.registry.record import ServiceRecord, host_port_endpoint, uri_endpoint

DOMAIN = "registry.example"
SRV = f"_webhdfs._tcp.nncache.services.{DOMAIN}"
AUTHORITY = ZoneAuthority.of(DOMAIN, "ns.example.com", ttl_s=7, serial=2**32 - 1)


def proxy(host: str) -> ServiceRecord:
    """Return a proxy's record."""
    return ServiceRecord(
        external=(uri_endpoint("org.apache.hadoop.webhdfs", "REST", f"http://{host}:9870/webhdfs/v1"),)
    )


def zone_of(*hosts: str) -> Zone:
    """Return a zone with proxies at these hosts."""
    zone = Zone(AUTHORITY.domain_bytes)
    for number, host in enumerate(hosts):
        zone.take(f"/services/nncache/components/p{number}", proxy(host))
    zone.is_loaded = True
    return zone


@pytest.fixture
def zone() -> Zone:
    """Return a zone with three proxies."""
    return zone_of("h1.example.com", "10.0.0.7", "[fd00::7]")


@pytest.fixture
def answers(zone: Zone) -> DnsResponder:
    """Return a responder for that zone."""
    return DnsResponder(zone, AUTHORITY)


def asked(answers: DnsResponder, query: Message, *, is_tcp: bool = False) -> Message:
    """Return the reply to a query."""
    wire = answers.reply(query.to_wire(), is_tcp=is_tcp)
    assert wire is not None
    return dns.message.from_wire(wire)


def lines(message: Message) -> list[str]:
    """Return the records of a reply as lines of a zone file."""
    return [line for rrset in message.answer for line in str(rrset).splitlines()]


def test_proxies_are_found_by_their_service(answers: DnsResponder) -> None:
    """The reply includes the addresses of hosts inside the zone, and none of other hosts."""
    answer = asked(answers, make_query(SRV.upper(), "SRV"))
    own = f"components.nncache.services.{DOMAIN}."
    v6 = "fd00-0000-0000-0000-0000-0000-0000-0007"
    assert sorted(line.partition(" IN ")[2] for line in lines(answer)) == [
        f"SRV 0 1 9870 10-0-0-7.p1.{own}",
        f"SRV 0 1 9870 {v6}.p2.{own}",
        "SRV 0 1 9870 h1.example.com.",
    ]
    assert sorted(str(rrset).lower() for rrset in answer.additional) == [
        f"10-0-0-7.p1.{own} 7 in a 10.0.0.7",
        f"{v6}.p2.{own} 7 in aaaa fd00::7",
    ]
    assert answer.flags & (QR | AA | RD | RA | TC) == QR | AA | RD
    assert answer.rcode() == NOERROR
    assert SRV.upper() in str(answer.question[0])


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        (f"_services._dns-sd._udp.nncache.services.{DOMAIN}", "PTR", f"PTR {SRV}."),
        (f"p0.{SRV}", "SRV", "SRV 0 1 9870 h1.example.com."),
        (f"p0.{SRV}", "TXT", 'TXT "api=org.apache.hadoop.webhdfs" "scheme=http" "path=/webhdfs/v1"'),
        (f"p1.components.nncache.services.{DOMAIN}", "A", "A 10.0.0.7"),
        (f"nncache.services.{DOMAIN}", "AAAA", "AAAA fd00::7"),
        (DOMAIN, "NS", "NS ns.example.com."),
        (DOMAIN, "SOA", "SOA ns.example.com. ns.example.com. 2 86400 600 86400 7"),
        (DOMAIN, "ANY", "SOA ns.example.com. ns.example.com. 2 86400 600 86400 7"),
        (
            f"p0.components.nncache.services.{DOMAIN}",
            "ANY",
            'TXT "api=org.apache.hadoop.webhdfs" "scheme=http" "path=/webhdfs/v1"',
        ),
    ],
)
def test_each_kind_of_record(answers: DnsResponder, name: str, kind: str, expected: str) -> None:
    """One record of each kind; the serial number counts the changes, and wraps around."""
    (line,) = lines(asked(answers, make_query(name, kind)))
    assert line == f"{name}. 7 IN {expected}"


@pytest.mark.parametrize(
    ("name", "kind", "rcode"),
    [
        (f"x.{DOMAIN}", "A", NXDOMAIN),
        (f"x.{DOMAIN}", "ANY", NXDOMAIN),
        (f"x.{DOMAIN}", "MX", NXDOMAIN),
        (DOMAIN, "A", NOERROR),
        (f"services.{DOMAIN}", "ANY", NOERROR),
        (f"_tcp.nncache.services.{DOMAIN}", "SRV", NOERROR),
        (SRV, "A", NOERROR),
        (SRV, "MX", NOERROR),
    ],
)
def test_what_is_not_there_says_for_how_long(answers: DnsResponder, name: str, kind: str, rcode: int) -> None:
    """Whether the name or only that record is missing, the reply includes the SOA (RFC 2308)."""
    answer = asked(answers, make_query(name, kind))
    assert (answer.rcode(), answer.answer) == (rcode, [])
    (soa,) = answer.authority
    assert (soa.rdtype, soa.ttl) == (dns.rdatatype.SOA, 7)


@pytest.mark.parametrize(
    ("query", "rcode"),
    [
        (make_query("example.com", "A"), REFUSED),
        (make_query("notregistry.example", "A"), REFUSED),
        (make_query(".", "NS"), REFUSED),
        (make_query(DOMAIN, "A", rdclass="CH"), REFUSED),
        (make_query(DOMAIN, "AXFR"), REFUSED),
        (make_query(DOMAIN, "IXFR"), REFUSED),
        (make_query(DOMAIN, "MAILB"), NOTIMP),
        (make_query(DOMAIN, "A", use_edns=1), BADVERS),
    ],
)
def test_what_is_not_answered_says_why(answers: DnsResponder, query: Message, rcode: int) -> None:
    """A name outside the zone, a zone transfer, another class, another opcode, or a later EDNS version."""
    answer = asked(answers, query)
    assert (answer.rcode(), answer.answer, answer.authority) == (rcode, [], [])
    assert answer.id == query.id


def test_the_class_any_is_that_of_the_zone(answers: DnsResponder) -> None:
    """RFC 1035, section 3.2.5 has that rule."""
    query = make_query(DOMAIN, "NS", rdclass="ANY")
    assert asked(answers, query).rcode() == NOERROR


@pytest.mark.parametrize("opcode", [1, 2, 4, 5, 6, 15])
def test_only_queries_are_answered(answers: DnsResponder, opcode: int) -> None:
    """An update or a notification is judged by its opcode alone."""
    query = make_query(DOMAIN, "SOA")
    query.set_opcode(opcode)  # type: ignore[arg-type] # the numbers of them all
    wire = answers.reply(query.to_wire(), is_tcp=False)
    assert wire is not None
    assert dns.message.from_wire(wire, question_only=True).rcode() == NOTIMP


@pytest.mark.parametrize("questions", [0, 2])
def test_there_is_one_question(answers: DnsResponder, questions: int) -> None:
    """RFC 9619 requires exactly one question."""
    query = make_query(DOMAIN, "SOA")
    query.question = [make_query(name, "A").question[0] for name in ("a.example", "b.example")][:questions]
    assert asked(answers, query).rcode() == FORMERR


def test_what_is_malformed_says_so(answers: DnsResponder) -> None:
    """A valid header suffices for the error; a message without one, or a reply, gets no answer."""
    wire = make_query(DOMAIN, "SOA").to_wire()
    for broken in (wire[:-1], wire + b"x", wire[:12]):
        reply = answers.reply(broken, is_tcp=False)
        assert reply is not None
        assert reply[:2] == wire[:2]
        assert dns.message.from_wire(reply).rcode() == FORMERR
    assert answers.rcodes == {"FORMERR": 3}
    for nothing in (
        b"",
        wire[:11],
        asked(answers, make_query(DOMAIN, "SOA")).to_wire(),
        wire + bytes(MAX_QUERY_BYTES),
    ):
        assert answers.reply(nothing, is_tcp=False) is None
    assert answers.unanswered == 4


def test_a_registry_that_was_not_read_is_a_failure_of_the_server(zone: Zone, answers: DnsResponder) -> None:
    """The reply is SERVFAIL, not NXDOMAIN; once the registry has been read, queries are answered."""
    zone.is_loaded = False
    assert asked(answers, make_query(SRV, "SRV")).rcode() == SERVFAIL
    zone.is_loaded = True
    assert asked(answers, make_query(SRV, "SRV")).rcode() == NOERROR


def test_an_answer_is_that_of_now(zone: Zone, answers: DnsResponder) -> None:
    """A cached reply is discarded at the next change; each reply has the id of its query."""
    first, second = make_query(SRV, "SRV", id=1), make_query(SRV, "SRV", id=2)
    assert (asked(answers, first).id, asked(answers, second).id) == (1, 2)
    assert len(asked(answers, first).answer[0]) == 3
    zone.take("/services/nncache/components/p0", None)
    assert len(asked(answers, first).answer[0]) == 2
    assert answers.rcodes == {"NOERROR": 4}


@pytest.mark.parametrize(
    ("proxies", "payload", "size"), [(16, None, 512), (40, 1232, 1232), (40, 4096, UDP_BYTES), (16, 100, 512)]
)
def test_what_does_not_fit_is_asked_for_again_over_tcp(proxies: int, payload: int | None, size: int) -> None:
    """The reply has the TC flag, and never a part of a set of records."""
    answers = DnsResponder(
        zone_of(*(f"host-{number:03}.of-a-long-name.example.com" for number in range(proxies))), AUTHORITY
    )
    query = make_query(SRV, "SRV", use_edns=None if payload is None else 0, payload=payload)
    wire = answers.reply(query.to_wire(), is_tcp=False)
    assert wire is not None
    assert len(wire) <= size
    answer = dns.message.from_wire(wire)
    assert answer.flags & TC
    assert answer.answer == []
    assert len(asked(answers, query, is_tcp=True).answer[0]) == proxies


def test_addresses_that_do_not_fit_are_left_out(zone: Zone) -> None:
    """They are additional records that save a query, so they are no reason to use TCP."""
    answers = DnsResponder(zone_of(*(f"10.0.0.{number}" for number in range(5))), AUTHORITY)
    answer = asked(answers, make_query(SRV, "SRV", use_edns=None))
    assert not answer.flags & TC
    assert len(answer.answer[0]) == 5
    assert len(answer.additional) < 5
    assert len(asked(answers, make_query(SRV, "SRV"), is_tcp=True).additional) == 5
    many = DnsResponder(zone_of(*(f"10.0.0.{number}" for number in range(20))), AUTHORITY)
    assert asked(many, make_query(SRV, "SRV"), is_tcp=True).additional == []


def test_a_large_answer_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes milliseconds in which no other client is answered. It is made again after a change of the zone."""
    zone = zone_of(*(f"h{number}.example.com" for number in range(MAX_RRSET - 1)))
    answers, made = DnsResponder(zone, AUTHORITY), list[int]()

    def counted(*arguments: Any) -> Message:
        made.append(1)
        return answer_to(*arguments)

    monkeypatch.setattr(dns_answers, "answer_to", counted)
    for number in (1, 2):
        query = make_query(SRV, "SRV", id=number)
        answer = asked(answers, query, is_tcp=True)
        assert (answer.id, len(answer.answer[0]), len(made)) == (number, MAX_RRSET - 1, 1)
    zone.take("/services/nncache/components/new", proxy("new.example.com"))
    assert len(asked(answers, make_query(SRV, "SRV"), is_tcp=True).answer[0]) == MAX_RRSET


def test_the_answer_to_a_long_question_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts by the length of the longest question over UDP."""
    answers, made = DnsResponder(zone_of("a.example.com"), AUTHORITY), list[int]()

    def counted(*arguments: Any) -> Message:
        made.append(1)
        return answer_to(*arguments)

    monkeypatch.setattr(dns_answers, "answer_to", counted)
    long = make_query(SRV, "SRV", options=[GenericOption(OptionType.PADDING, bytes(2 * UDP_BYTES))])
    for _ in range(2):
        assert answers.reply(long.to_wire(max_size=MAX_QUERY_BYTES), is_tcp=True)
    assert len(made) == 2


def test_a_crowd_is_bounded() -> None:
    """Over UDP the reply is known not to fit before it is encoded."""
    zone = Zone(AUTHORITY.domain_bytes)
    zone.is_loaded = True
    for number in range(MAX_RRSET + 10):
        record = ServiceRecord(external=(host_port_endpoint("x", "IPC", (f"h{number}", 1)),))
        zone.take(f"/services/s/components/c{number}", record)
    answers = DnsResponder(zone, AUTHORITY)
    query = make_query(f"_x._tcp.s.services.{DOMAIN}", "SRV")
    assert asked(answers, query).flags & TC
    assert answer_to(zone, AUTHORITY, query, UDP_BYTES).answer == []
    assert len(asked(answers, query, is_tcp=True).answer[0]) == MAX_RRSET


@given(st.binary(max_size=600), st.booleans())
def test_any_bytes_get_an_answer_or_none(wire: bytes, is_tcp: bool) -> None:
    """No bytes cause an exception; the fuzz target of DNS mutates valid messages."""
    reply = DnsResponder(zone_of("h"), AUTHORITY).reply(wire, is_tcp=is_tcp)
    if reply is not None:
        assert len(wire) >= 12
        assert reply[:2] == wire[:2]
        assert is_tcp or len(reply) <= UDP_BYTES
        assert dns.message.from_wire(reply, question_only=True).flags & QR
