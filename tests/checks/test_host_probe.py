"""The limits of this host are tried, not computed."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nncache.checks.facts import HostFound
from nncache.checks.host_probe import look_at_host
from nncache.hadoop.server_kind import ServerKind
from nncache.settings.commands import PROXY, PUBLISHER
from nncache.settings.forms import Form
from nncache.testbed.certificates import Authority
from tests.checks.samples import ON_ZOOKEEPER, subject
from tests.http_server import answering, http_server
from tests.processes import free_address
from tests.tls import server_context


def looked(form: Form, **flags: str) -> HostFound:  # type: ignore[type-arg] # either daemon's
    """Probe this host for a daemon with these flags."""
    return asyncio.run(look_at_host(subject(form, {**ON_ZOOKEEPER, **flags})))


def test_a_free_port_can_be_bound_and_is_free_again() -> None:
    """The probe leaves no listener behind."""
    address = free_address()
    for _ in range(2):
        assert looked(PUBLISHER, admin=address) == HostFound(bound={"admin": ""})


def test_who_has_a_taken_port_is_asked() -> None:
    """This works for a wildcard address, too."""
    with http_server(404, {"Cache-Status": "nncache"}) as address:
        port = address.rpartition(":")[2]
        found = looked(PROXY, listen=f"0.0.0.0:{port}", admin="127.0.0.1:0")
    assert found.bound == {"listen": "Address already in use", "admin": ""}
    assert found.users["listen"].kind is ServerKind.PROXY


def test_a_daemon_whose_admin_port_speaks_tls_is_known(tmp_path: Path) -> None:
    """The probe uses TLS if this daemon's own settings do. The running daemon's certificate need not be trusted."""
    authority = Authority(tmp_path)
    issued = authority.issue("admin")
    files = {"admin_tls_certificate": str(issued.chain), "admin_tls_key": str(issued.key)}
    with answering(200, b"nncache_cache_entries 1", tls=server_context(authority)) as (address, _):
        assert looked(PROXY, admin=address, **files).users["admin"].kind is ServerKind.PROXY_ADMIN
        assert looked(PROXY, admin=address).users["admin"].kind is ServerKind.TLS
    with answering(404, b"", tls=server_context(authority)) as (address, _):
        assert looked(PUBLISHER, admin=address, **files).users["admin"].kind is ServerKind.TLS
    broken = looked(PROXY, admin_tls_certificate=str(issued.chain), admin_tls_key=str(authority.ca))
    assert broken.token.startswith(f"admin_tls_key: {authority.ca}: has mode")
    assert broken.certificates["admin_tls_certificate"].fault == broken.token


def test_certificates_are_loaded_to_see_when_they_end(tmp_path: Path) -> None:
    """This covers both ports of a proxy, and a publisher's one."""
    issued = Authority(tmp_path).issue("proxy", not_after=datetime.now(UTC) + timedelta(days=7))
    admin = {"admin_tls_certificate": str(issued.chain), "admin_tls_key": str(issued.key)}
    clients = {"tls_certificate": str(issued.chain), "tls_key": str(issued.key), "tls_listen": "127.0.0.1:0"}
    with_clients = looked(PROXY, **admin, **clients)
    assert with_clients.bound["tls_listen"] == ""
    found = with_clients.certificates
    assert found.keys() == {"admin_tls_certificate", "tls_certificate"}
    for each in (*found.values(), *looked(PUBLISHER, **admin).certificates.values()):
        assert each.fault == ""
        assert 6 * 86_400 < each.left_s < 8 * 86_400
    assert (
        looked(PROXY, **clients | {"tls_key": "/no"})
        .certificates["tls_certificate"]
        .fault.startswith("tls_key: ")
    )


def test_an_address_of_another_host_is_refused() -> None:
    """The start would fail in the same way (RFC 5737: a documentation address)."""
    assert "Cannot assign requested address" in looked(PUBLISHER, admin="192.0.2.1:9873").bound["admin"]


def test_files_token_and_class(tmp_path: Path) -> None:
    """The faults have the words of a failed start."""
    found = looked(
        PROXY, max_connections="2000000000", admin_token_file=f"{tmp_path}/none", channel="no.such:C"
    )
    assert found.limits.startswith("max_connections: 2000000000: must be at most")
    assert found.token.startswith(f"admin_token_file: {tmp_path}/none: must be a readable file")
    assert found.classes["channel"].startswith("channel: no.such:C: ")
    assert (
        looked(PUBLISHER, output_stream="no.such:C")
        .classes["output_stream"]
        .startswith("output_stream: no.such:C")
    )


def test_logs_and_secrets_are_tried_as_at_a_start(tmp_path: Path) -> None:
    """Otherwise the check says that all is well, and a restart takes the proxy down."""
    authenticates = {"principal": "n/h@R", "keytab": "/k", "spnego_principal": ("HTTP/h@R",)}
    secrets = {"spnego_keytab": "/k", "cookie_secret_file": f"{tmp_path}/none"}
    found = asyncio.run(
        look_at_host(
            subject(PROXY, {**ON_ZOOKEEPER, **authenticates, **secrets, "audit_log": f"{tmp_path}/none/log"})
        )
    )
    assert found.logs == f"audit_log: {tmp_path}/none/log: must be a file that this user can append to"
    assert found.services.startswith(f"cookie_secret_file: {tmp_path}/none: No such file")


def test_files_on_a_disk_that_hangs_are_waited_for_in_bounds(tmp_path: Path) -> None:
    """Each is named, and the end of the program does not wait for them."""
    hangs = tmp_path / "hangs"
    os.mkfifo(hangs)
    key = tmp_path / "key"
    key.touch(mode=0o600)
    certificate = {"tls_certificate": str(hangs), "tls_key": str(key), "tls_listen": "127.0.0.1:0"}
    found = looked(PROXY, admin_token_file=str(hangs), **certificate)
    assert found.token.startswith("admin_token_file: no answer in 1.2 s: a disk")
    assert found.certificates["tls_certificate"].fault.startswith("tls_certificate: no answer in 1.2 s")


@pytest.mark.parametrize("form", [PROXY, PUBLISHER])
def test_nothing_is_wrong_with_the_defaults(form: Form) -> None:  # type: ignore[type-arg] # as above
    """The system chooses the ports."""
    flags = {"listen": "127.0.0.1:0"} if form is PROXY else {}
    found = looked(form, admin="127.0.0.1:0", **flags)
    assert (found.limits, found.token, found.classes, set(found.bound.values())) == ("", "", {}, {""})


def test_a_name_that_no_host_has_is_reported() -> None:
    """The fault has the operating system's words."""
    assert looked(PUBLISHER, admin="no-such-host.invalid:9873").bound["admin"]
    assert looked(PUBLISHER, admin="[::1]:0").bound["admin"] in {"", "Cannot assign requested address"}
