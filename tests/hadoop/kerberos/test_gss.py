"""This machine's GSS-API, with a real KDC."""

import importlib
import sys
from pathlib import Path

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.gss import (
    Accepted,
    GssContext,
    Mechanism,
    RefusedToken,
    accept,
    ticket_from_cache,
    ticket_from_keytab,
)
from nncache.hadoop.kerberos.krb5_library import new_cache
from nncache.hadoop.kerberos.principal import Principal
from nncache.testbed.spec import REALM
from tests.hadoop.kerberos.counted_identity import acceptor
from tests.kerberos import KdcServer

ALICE = Principal("alice", realm=REALM)
HTTP = Principal("HTTP", "localhost")


@pytest.mark.parametrize("mechanism", list(Mechanism))
@pytest.mark.parametrize("server", [HTTP, Principal("HTTP", "localhost", REALM)])
def test_both_sides_know_each_other_then(realm: KdcServer, mechanism: Mechanism, server: Principal) -> None:
    """They use the host's name or the principal; each side unwraps the other's messages."""
    ticket = ticket_from_keytab(ALICE, str(realm.keytab("alice")), new_cache())
    assert 3000 < ticket.lifetime_s <= 3600 + 1, (
        "the hour that the KDC gives; both clocks are read in whole seconds"
    )
    ours, theirs = GssContext(ticket, mechanism), acceptor(realm.keytab("HTTP/localhost"))
    challenge = theirs.step(ours.step(server, None))
    assert (ours.is_complete, theirs.complete) == (False, True)  # the server is not authenticated yet
    assert ours.step(server, challenge) == b""
    assert (ours.is_complete, theirs.complete) == (True, True)
    assert str(theirs.initiator_name) == f"alice@{REALM}"
    for encrypts in (False, True):
        assert theirs.unwrap(ours.wrap(b"said", encrypts=encrypts)).message == b"said"
        assert ours.unwrap(theirs.wrap(b"said", encrypts).message, is_encrypted=encrypts) == b"said"
    with pytest.raises(KerberosError, match="not encrypted"):
        ours.unwrap(theirs.wrap(b"open", False).message, is_encrypted=True)
    altered = bytearray(theirs.wrap(b"said", True).message)
    altered[-1] ^= 1
    with pytest.raises(KerberosError, match="does not accept what the server sent"):
        ours.unwrap(bytes(altered), is_encrypted=True)


def test_a_servers_token_that_is_not_its_own_is_refused(realm: KdcServer) -> None:
    """A man in the middle has no key."""
    ticket = ticket_from_keytab(ALICE, str(realm.keytab("alice")), new_cache())
    context = GssContext(ticket, Mechanism.KERBEROS)
    context.step(HTTP, None)
    with pytest.raises(KerberosError, match="no Kerberos context with HTTP/localhost"):
        context.step(HTTP, b"`\x0c\x06\x06*\x86H\x86\xf7\x12\x01\x02\x02\x02\x00garbage")
    assert not context.is_complete


def test_what_is_wrong_with_a_keytab_is_named(realm: KdcServer, tmp_path: Path) -> None:
    """The keytab lacks the principal's key, has an outdated key, or does not exist."""
    keytab = str(realm.keytab("alice"))
    with pytest.raises(KerberosError, match=rf"no key of it \(klist -kt {keytab}"):
        ticket_from_keytab(Principal("bob", realm=REALM), keytab, new_cache())
    with pytest.raises(KerberosError, match="holds no key of it"):
        ticket_from_keytab(ALICE, str(tmp_path / "none"), new_cache())
    realm.add("changing")
    old = str(realm.keytab("changing"))
    realm.change_key("changing")
    with pytest.raises(KerberosError, match=r"integrity check failed: .*export the keytab again"):
        ticket_from_keytab(Principal("changing", realm=REALM), old, new_cache())


def test_a_server_that_the_kdc_does_not_know(realm: KdcServer) -> None:
    """The error names it, with advice."""
    ticket = ticket_from_keytab(ALICE, str(realm.keytab("alice")), new_cache())
    with pytest.raises(KerberosError, match=r"Server HTTP/127\.0\.0\.1.*by its host name"):
        GssContext(ticket, Mechanism.SPNEGO).step(Principal("HTTP", "127.0.0.1", REALM), None)


def test_the_ticket_of_a_cache(realm: KdcServer, tmp_path: Path) -> None:
    """It is that of the given principal, or of the principal that the cache belongs to."""
    cache = f"FILE:{realm.kinit('alice', ccache=tmp_path / 'cc')}"
    assert ticket_from_cache(ALICE, cache).lifetime_s > 3000
    assert ticket_from_cache(None, cache).lifetime_s > 3000
    with pytest.raises(KerberosError, match="no Kerberos ticket for bob"):
        ticket_from_cache(Principal("bob", realm=REALM), cache)
    with pytest.raises(KerberosError, match="no Kerberos ticket for the ticket cache"):
        ticket_from_cache(None, f"FILE:{tmp_path}/none")


def test_without_gssapi_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the packages of PyPI and of Debian."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(KerberosError, match=r"pip install '\.\[kerberos\]'.*libkrb5-dev"):
        gss.check_installed()


def test_gssapi_is_not_imported_before_it_is_needed() -> None:
    """Importing nncache's module alone costs nothing and requires nothing."""
    source = importlib.util.find_spec("nncache.hadoop.kerberos.gss")
    assert source is not None
    assert source.origin is not None
    assert "\nimport gssapi" not in Path(source.origin).read_text(encoding="utf-8")


def test_a_clients_ticket_is_accepted_once(realm: KdcServer) -> None:
    """The result names both sides; the same ticket again is a replay."""
    ticket = ticket_from_keytab(ALICE, str(realm.keytab("alice")), new_cache())
    keytab = str(realm.keytab("HTTP/localhost"))
    for mechanism in Mechanism:
        context = GssContext(ticket, mechanism)
        token = context.step(HTTP, None)
        verdict = accept(token, keytab)
        assert isinstance(verdict, Accepted)
        assert (verdict.initiator, verdict.service) == (f"alice@{REALM}", f"HTTP/localhost@{REALM}")
        context.step(HTTP, verdict.reply)
        assert context.is_complete
        again = accept(token, keytab)
        assert isinstance(again, RefusedToken)
        assert "replay" in again.why


def test_what_shows_nothing_is_refused(realm: KdcServer, tmp_path: Path) -> None:
    """No error is raised, although `step` returns for some of them and raises for others."""
    ticket = ticket_from_keytab(ALICE, str(realm.keytab("alice")), new_cache())
    keytab = str(realm.keytab("HTTP/localhost"))
    token = GssContext(ticket, Mechanism.SPNEGO).step(HTTP, None)
    for wrong in (b"", b"`", b"NTLMSSP\0\x01\0\0\0", token[:-8], token[:40] + b"x" + token[41:]):
        assert isinstance(accept(wrong, keytab), RefusedToken)
    assert isinstance(accept(token, str(tmp_path / "none")), RefusedToken)
