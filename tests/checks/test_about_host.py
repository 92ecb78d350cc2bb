"""Limits of this host, and inconsistent numbers in the settings."""

from typing import Any

import pytest

from nncache.checks.about_host import access, certificates, identity, limits, listen, staleness
from nncache.checks.facts import CertificateFound, Contact, HostFound, NameNodeFound
from nncache.hadoop.server_kind import ServerKind
from tests.checks.samples import ON_ZOOKEEPER, ONE, PAIR, of_proxy, of_publisher, reported

IDENTITY = {"principal": "nncache/_HOST@R", "keytab": "/k"}
LOGIN = "no Kerberos ticket for nncache/h@R: the keytab /k holds no key of it"
SILENT = "no Kerberos ticket for nncache/h@R: the KDC does not answer"


@pytest.mark.parametrize(
    ("flags", "host", "found", "line"),
    [
        (
            IDENTITY,
            {"login": LOGIN},
            {},
            f"failed: {LOGIN} | correct --principal, or --keytab: kinit -k -t /k nncache/$(",
        ),
        (
            IDENTITY,
            {"login": SILENT},
            {},
            f"failed: {SILENT} | kinit -k -t /k nncache/$(hostname -f)@R must succeed on",
        ),
        (
            {"ticket_cache": "FILE:/c"},
            {"login": "expired"},
            {},
            "failed: expired | klist -c FILE:/c must show a ticket that holds; else correct --ticket-cache",
        ),
        (
            IDENTITY,
            {},
            {"silence": "the KDC has not answered in 2 s"},
            "failed: the KDC has not answered in 2 s | kinit",
        ),
        (
            IDENTITY,
            {},
            {"is_another": True, "rpc_silence": "it calls itself nn/x"},
            "failed: it calls itself nn/x | correct --namenode-principal: dfs.namenode.kerberos.principal",
        ),
        (
            {},
            {},
            {
                "named_status": 401,
                "challenge": "Negotiate",
                "rpc_silence": "SIMPLE authentication is not enabled",
            },
            "failed: no Kerberos identity is given, and nn1:9870 asks for Kerberos (WWW-Authenticate: Negotiate)",
        ),
        (
            IDENTITY,
            {"identity": "keytab: /k: has mode 0644"},
            {},
            "failed: keytab: /k: has mode 0644 | correct --keytab",
        ),
        (IDENTITY, {}, {}, "ok: there is a ticket: NameNodes are asked as nncache/_HOST@R"),
        ({}, {}, {}, "ok: no Kerberos identity is given: NameNodes are asked as user hdfs (SIMPLE) | "),
    ],
)
def test_an_identity_is_tried(
    flags: dict[str, object], host: dict[str, Any], found: dict[str, Any], line: str
) -> None:
    """A fault of the identity is reported here once, with its remedy."""
    facts = of_proxy(flags, host=HostFound(**host), namenodes={ONE: NameNodeFound(**found)})
    (seen,) = reported(identity(facts))
    assert seen.startswith(line)


def test_a_keytab_for_clients_is_looked_into() -> None:
    """It is checked in addition to the service's own identity."""
    _, line = reported(
        identity(of_proxy(host=HostFound(services="spnego_keytab: /k: holds no key of HTTP/h")))
    )
    assert line == "failed: spnego_keytab: /k: holds no key of HTTP/h | correct --spnego-keytab"


def test_files_must_be_enough_for_the_connections_of_a_proxy() -> None:
    """The failure has the words of a failed start."""
    assert reported(limits(of_proxy()))[0].startswith("ok: 16384 client connections fit")
    (line,) = reported(limits(of_proxy(host=HostFound(limits="max_connections: 9: must be at most 5"))))
    assert line.startswith("failed: max_connections: 9: must be at most 5 | raise LimitNOFILE=")
    assert reported(limits(of_publisher()))[0].startswith("skipped: ")


@pytest.mark.parametrize(
    ("key", "kind", "line"),
    [
        ("listen", ServerKind.PROXY, "ok: listen 127.0.0.1:9871 is an nncache proxy that is running"),
        (
            "listen",
            ServerKind.PROXY_ADMIN,
            "failed: listen 127.0.0.1:9871 is taken: it is the admin port of an nncache",
        ),
        (
            "admin",
            ServerKind.PROXY_ADMIN,
            "ok: admin 127.0.0.1:9872 is the admin port of an nncache proxy that is run",
        ),
        (
            "admin",
            ServerKind.ZOOKEEPER,
            "failed: admin 127.0.0.1:9872 is taken: it is a ZooKeeper (x) | set --admin",
        ),
        (
            "admin",
            None,
            "failed: admin 127.0.0.1:9872 cannot be listened on: in use | set --admin to an address of",
        ),
    ],
)
def test_who_has_a_port_is_named(key: str, kind: ServerKind | None, line: str) -> None:
    """The daemon itself may be running. Any other server is in its way."""
    user = Contact(address="x:1", kind=kind, name="x")
    host = HostFound(bound={key: "in use"}, users={key: user})
    lines = reported(listen(of_proxy(host=host)))
    assert any(each.startswith(line) for each in lines), lines
    assert sum(each.endswith("is free | ") for each in lines) == 1


@pytest.mark.parametrize(
    ("plain", "line"),
    [
        (ServerKind.PROXY, "ok: tls_listen 127.0.0.1:9875 is a TLS (https) port that is running"),
        (
            None,
            "failed: tls_listen 127.0.0.1:9875 is taken: it is a TLS (https) port | set --tls-listen to another",
        ),
    ],
)
def test_a_tls_port_is_a_proxys_own_if_the_plain_one_is(plain: ServerKind | None, line: str) -> None:
    """It may be a NameNode's, whose HTTPS port is 9871 as well."""
    flags = {"tls_listen": "127.0.0.1:9875", "tls_certificate": "/c", "tls_key": "/k"}
    users = {
        "tls_listen": Contact(address="x:1", kind=ServerKind.TLS),
        "listen": Contact(address="x:2", kind=plain),
    }
    host = HostFound(bound={"tls_listen": "in use", "listen": "in use" if plain else ""}, users=users)
    lines = reported(listen(of_proxy(flags, host=host)))
    assert any(each.startswith(line) for each in lines), lines


def test_a_log_that_cannot_be_written_is_a_fault() -> None:
    """The proxy would not start."""
    facts = of_proxy(host=HostFound(logs="access_log: /x/log: must be a file"))
    assert "failed: access_log: /x/log: must be a file | correct --access-log" in reported(access(facts))


def test_a_publishers_port_is_its_own() -> None:
    """A running publisher on its own port is no conflict."""
    host = HostFound(
        bound={"admin": "in use"}, users={"admin": Contact(address="x:1", kind=ServerKind.PUBLISHER_ADMIN)}
    )
    assert reported(listen(of_publisher(host=host)))[0].startswith(
        "ok: admin 127.0.0.1:9873 is the admin port of an nncache p"
    )


def test_token_and_class() -> None:
    """Failures have the words of a failed start."""
    assert reported(access(of_proxy())) == ["ok: operators' pages answer this host only (no token) | "]
    assert reported(access(of_proxy({"admin_token_file": "/t"}))) == ["ok: the tokens in /t can be read | "]
    host = HostFound(token="admin_token_file: /t: x", classes={"channel": "channel: y"})
    assert reported(access(of_proxy(host=host))) == [
        "failed: admin_token_file: /t: x | correct --admin-token-file",
        "failed: channel: y | correct --channel",
    ]
    host = HostFound(classes={"output_stream": ""})
    assert reported(access(of_publisher(host=host)))[1] == "ok: the class of output_stream can be loaded | "


def test_a_token_that_crosses_the_network_in_clear_is_reported() -> None:
    """It does not on loopback or with TLS."""
    flags = {"admin_token_file": "/t", "admin": "0.0.0.0:9872"}
    (_, line) = reported(access(of_proxy(flags)))
    assert line.startswith("warning: the admin port 0.0.0.0:9872 takes the token in plain HTTP")
    assert "set --admin-tls-certificate and --admin-tls-key" in line
    for more in (
        {"admin": "localhost:1"},
        {"admin": "[::1]:1"},
        {"admin_tls_certificate": "c", "admin_tls_key": "k"},
    ):
        assert len(reported(access(of_proxy(flags | more)))) == 1
    assert len(reported(access(of_proxy({"admin": "0.0.0.0:9872"})))) == 1


def test_intervals_must_fit_into_the_bound() -> None:
    """Twice the interval must fit, so that one late probe does not close the gate."""
    assert reported(staleness(of_proxy())) == ["ok: changes can be known within max_staleness_s, 3 s | "]
    slow = {"namenode_probe_interval_s": "2"}
    assert reported(staleness(of_proxy(slow)))[0].startswith("ok: ")
    for flags in (slow | PAIR, slow | ON_ZOOKEEPER):
        (line,) = reported(staleness(of_proxy(flags)))
        assert line.startswith(
            "warning: max_staleness_s is 3 and namenode_probe_interval_s is 2: between two of these"
        )
        assert line.endswith("| set --max-staleness-s to 6, or --namenode-probe-interval-s to 1")
    (line,) = reported(staleness(of_proxy({"poll_interval_s": "1", "max_staleness_s": "1.5"})))
    assert "poll_interval_s is 1" in line


def test_coverage_must_be_published_often_enough() -> None:
    """The limit is that of proxies with the default bound."""
    assert reported(staleness(of_publisher())) == ["ok: coverage is published every 0.5 s | "]
    (line,) = reported(staleness(of_publisher({"coverage_interval_s": "2"})))
    assert line.startswith("warning: coverage_interval_s is 2: proxies whose max_staleness_s is 3")


def test_a_ticket_of_another_program_that_ends_soon_is_reported() -> None:
    """The daemon renews a ticket from a keytab itself."""
    given = {"ticket_cache": "FILE:/c"}
    assert reported(identity(of_proxy(given, host=HostFound(ticket_left_s=7200.0))))[0].startswith("ok: ")
    (line,) = reported(identity(of_proxy(given, host=HostFound(ticket_left_s=1500.0))))
    assert line.startswith("warning: the ticket in FILE:/c ends in 25 minutes")
    assert "k5start -a -K 60" in line, "without -a it renews in the last minutes, and NncacheTicketEnds fires"
    assert "--keytab" in line


def test_certificates_are_judged_by_when_they_end() -> None:
    """The threshold is that of the alert. An unusable certificate is reported with the faulty file."""
    assert reported(certificates(of_proxy()))[0].startswith("skipped: ")
    day = 86_400.0
    found = {
        "tls_certificate": CertificateFound(left_s=13 * day),
        "admin_tls_certificate": CertificateFound(left_s=15 * day),
    }
    ends, holds = reported(certificates(of_proxy(host=HostFound(certificates=found))))
    assert ends.startswith("warning: the certificate of tls_certificate ends in 13 days | put a new one")
    assert holds == "ok: the certificate of admin_tls_certificate holds for 15 days | "
    broken = HostFound(certificates={"tls_certificate": CertificateFound("tls_key: /k: has mode 0644")})
    assert reported(certificates(of_proxy(host=broken))) == [
        "failed: tls_key: /k: has mode 0644 | correct --tls-key"
    ]
