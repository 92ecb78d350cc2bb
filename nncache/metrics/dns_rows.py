"""What only the DNS daemon has."""

from typing import Final

from nncache.metrics.metric import Metric, counter, gauge

RCODES: Final = {
    "NOERROR": "Answered; or the name has no record of that type.",
    "NXDOMAIN": "There is no such name.",
    "SERVFAIL": "The registry has not been read yet.",
    "REFUSED": "Outside the domain, or a transfer of the zone.",
    "FORMERR": "The message is malformed.",
    "NOTIMP": "An operation other than a query.",
    "BADVERS": "A later version of EDNS.",
}
"""By response code: when it is given."""

DNS_ROWS: tuple[Metric, ...] = (
    gauge("dns.is_loaded", "dns_loaded", "0 or 1", "Whether the registry has been read; 0: SERVFAIL."),
    gauge(
        "dns.is_current",
        "dns_current",
        "0 or 1",
        "Whether the registry is followed; 0: answers are those of what was last known.",
    ),
    gauge("dns.entries", "dns_entries", "entries", "Entries of the registry that have names in DNS."),
    gauge("dns.names", "dns_names", "names", "Names of the zone."),
    counter("dns.changes", "dns_changes", "changes", "Changes of the zone."),
    counter("dns.responses", "dns_responses", "responses", "Responses, by response code.", "rcode", RCODES),
    counter("dns.truncated", "dns_responses_truncated", "responses", "Responses with TC: ask over TCP."),
    counter(
        "dns.dropped",
        "dns_messages_dropped",
        "messages",
        "Messages without a response.",
        "reason",
        {
            "rate": "Its address is over dns_queries_per_s.",
            "malformed": "No header, more than 4 KiB, or a response.",
            "error": "An internal error; the first is in the log.",
        },
    ),
    gauge("dns.connections_open", "dns_connections_open", "connections", "TCP connections open."),
    counter(
        "dns.connections_refused",
        "dns_connections_refused",
        "connections",
        "TCP connections refused because too many were open.",
    ),
)
