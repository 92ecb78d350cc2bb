"""Input of registry clients, over HTTP and DNS, and the records that they write."""

from typing import Final

import dns.flags
import dns.message

from nncache.proxy.errors import ClientError
from nncache.registry import paths
from nncache.registry.dns_answers import (
    MAX_QUERY_BYTES,
    PLAIN_UDP_BYTES,
    TCP_BYTES,
    UDP_BYTES,
    DnsResponder,
    ZoneAuthority,
)
from nncache.registry.dns_records import records_of
from nncache.registry.dns_zone import Zone
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import InvalidPathnameError, InvalidRecordError, NoRecordError
from nncache.registry.record import ServiceRecord, host_port_endpoint, uri_endpoint
from nncache.registry.record_json import encode_record, parse_record
from nncache.registry.rest.request import MOST_ENTRIES, REGISTRY, is_registry, read_registry_request
from tests.hostile.fuzzing.target import Target, hold, text_of

_ENTRY: Final = "/services/jobs"
_AUTHORITY: Final = ZoneAuthority.of("registry.example.com", "ns.example.com", ttl_s=7, serial=1)
_ID_BYTES: Final = 2
_HEADER_BYTES: Final = 12


def _zone() -> Zone:
    zone = Zone(_AUTHORITY.domain_bytes)
    addresses = tuple((f"192.0.2.{number}", 9871) for number in range(1, 40))
    web = uri_endpoint("org.apache.hadoop.webhdfs", "REST", "http://h.example.com:9871/webhdfs/v1")
    many = host_port_endpoint("org.apache.hadoop.webhdfs", "REST", *addresses)
    zone.take("/services/nncache", ServiceRecord(description="d", external=(web, many)))
    zone.is_loaded = True
    return zone


_ZONE: Final = _zone()


def check_record(data: bytes) -> None:
    """Check the contents of an entry's znode."""
    try:
        record = parse_record(_ENTRY, data)
    except (NoRecordError, InvalidRecordError) as error:
        hold(str(error).startswith(f"{_ENTRY}: "), "an error that names no entry")
        return
    written = encode_record(record)
    again = parse_record(_ENTRY, written)
    hold(again == record, "a record does not come back")
    hold(encode_record(again) == written, "a record is written in two ways")
    for endpoint in record.endpoints:
        query = EndpointQuery("api", endpoint.api) if endpoint.api else None
        hold(query is None or query.matches_record(record), "a search does not find its own record")
        hold(
            query is None or query.is_possible_in(written), "a search passes over a record that it would find"
        )
    zone = Zone(_AUTHORITY.domain_bytes)
    zone.take(_ENTRY, record)
    zone.check()
    hold(zone.entries == bool(records_of(_ENTRY, record)), "an entry without names, or the other way round")
    zone.take(_ENTRY, None)
    zone.check()
    hold(zone.names == 1, "names that nobody has are left")


def check_request(data: bytes) -> None:
    """Check a target below the resource, with a value of `Accept` after a line feed."""
    spelled, _, accept = text_of(data).partition("\n")
    target = REGISTRY + spelled
    try:
        registry_request = read_registry_request(
            target, ((b"Accept", accept.encode("utf-8", "surrogateescape")),)
        )
    except ClientError as error:
        hold(error.status in range(400, 500), "a refusal with another status")
        return
    hold(0 < registry_request.limit <= MOST_ENTRIES, "a limit out of bounds")
    hold(not (registry_request.is_html and registry_request.is_prometheus), "two formats")
    hold(
        registry_request.is_list or not registry_request.is_recursive, "a recursive question that is no list"
    )
    if is_registry(target):
        hold(registry_request.path.startswith(("/", "\udcff")) or "%" in spelled, "a path that is none")
    try:
        found = paths.readable(registry_request.path)
    except InvalidPathnameError:
        return
    hold(paths.readable(found) == found, "two spellings of one path")


def check_dns(data: bytes) -> None:
    """Check a DNS message, over UDP or, if the first byte is odd, over TCP."""
    is_tcp, message = bool(data[:1] and data[0] % 2), data[1:]
    answers = DnsResponder(_ZONE, _AUTHORITY)
    reply = answers.reply(message, is_tcp=is_tcp)
    hold(answers.unanswered == (reply is None), "what is not answered is not counted")
    if reply is None:
        return
    hold(_HEADER_BYTES <= len(message) <= MAX_QUERY_BYTES, "a message of another length has an answer")
    again = answers.reply(message, is_tcp=is_tcp)
    hold(reply[:_ID_BYTES] == message[:_ID_BYTES], "an answer to somebody else")
    hold(len(reply) <= (TCP_BYTES if is_tcp else UDP_BYTES), "an answer that does not fit")
    hold(is_tcp or b"\0\0\x29" in message or len(reply) <= PLAIN_UDP_BYTES, "an answer too long without EDNS")
    read = dns.message.from_wire(reply, ignore_trailing=False)
    hold(read.flags & dns.flags.QR, "an answer that says it is a question")
    is_same = again is not None and read == dns.message.from_wire(again)  # in any order of its records
    hold(is_same or read.flags & dns.flags.TC, "another answer to the same question")
    hold(sum(answers.rcodes.values()) == 2, "answers that are not counted")


def _asked(name: str, kind: str, **options: object) -> bytes:
    query = dns.message.make_query(name, kind, id=7, **options)  # type: ignore[arg-type] # of make_query, as they come
    return query.to_wire()


_HOME: Final = "nncache.services.registry.example.com"

REGISTRY_TARGETS: Final = (
    Target(
        name="service-record",
        invariant="a record, or an error that names the entry; what is read comes back, and leaves no name in DNS",
        check=check_record,
        seeds=(
            encode_record(
                ServiceRecord(
                    description="d\ud800",
                    external=(uri_endpoint("http://", "REST", "http://h:1/p"), uri_endpoint("a:b", "x")),
                    internal=(
                        host_port_endpoint("org.apache.hadoop", "hadoop/IPC", ("192.0.2.1", 80), ("h", 0)),
                    ),
                    attributes={
                        "yarn:id": "application_1_0001",
                        "yarn:persistence": "application",
                        "n": "1.50",
                    },
                )
            ),
            b'{"type":"JSONServiceRecord","external":null,"internal":[],"a":1.50,"b":[null,{"c":true}]}',
            (
                b'{"type":"JSONServiceRecord","external":[{"api":"a","addressType":"uri","protocolType":"p",'
                b'"addresses":[{"uri":"http://[::1%25eth0]:8/\\u0000"},{"uri":"//h:99999"},{"host":"H.","port":"8"}]}]}'
            ),
            b'"JSONServiceRecord"',
            b'{"JSONServiceRecord":' + b"[" * 1200,
        ),
        modules=(
            "nncache.registry.record_json",
            "nncache.registry.dns_records",
            "nncache.registry.dns_names",
            "nncache.registry.dns_zone",
        ),
        max_bytes=1536,
    ),
    Target(
        name="registry-request",
        invariant="a request within its bounds, or a refusal of the client's kind",
        check=check_request,
        seeds=(
            b"/services/nncache?list&limit=10&after=%2Fservices%2Fa\ntext/html, */*;q=0.1",
            b"/users/joe?recursive=true&format=json&user.name=joe\napplication/json",
            b"?find=api%3Dorg.apache.hbase*&format=prometheus\n",
            b"/%2e%2e/..;/%zz?list=maybe&list\ntext/html;q=0,application/xhtml+xml",
        ),
        modules=("nncache.registry.rest.request", "nncache.registry.paths"),
    ),
    Target(
        name="dns-message",
        invariant="no answer, or one to this very message that its way can carry and dnspython reads",
        check=check_dns,
        seeds=(
            b"\0" + _asked(f"_webhdfs._tcp.{_HOME}", "SRV"),
            b"\1" + _asked(_HOME, "ANY"),
            b"\0" + _asked(_HOME, "A", use_edns=0, payload=4096),
            b"\0" + _asked(f"_services._dns-sd._udp.{_HOME}", "PTR", use_edns=1),
            b"\0" + _asked("registry.example.com", "SOA"),
            b"\0" + _asked("elsewhere.example.com", "AXFR"),
            b"\1" + _asked(f"nobody.{_HOME}", "TXT", want_dnssec=True),
        ),
        modules=("nncache.registry.dns_answers", "nncache.registry.dns_zone"),
        max_bytes=512,
    ),
)
