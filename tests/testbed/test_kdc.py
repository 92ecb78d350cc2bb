"""A KDC, its principals, keytabs and tickets."""

import os
import subprocess
from pathlib import Path

import pytest

from nncache.testbed.errors import KerberosError, MissingToolError
from nncache.testbed.kdc import Kdc, KdcServer, find_programs
from nncache.testbed.ports import is_free
from tests.kerberos import clients_of, negotiate
from tests.testbed.leftovers import eventually, nothing_is_left


def klist(kdc: Kdc, *arguments: str) -> str:
    """Return what MIT's own tool reads in a keytab or in tickets."""
    environ = os.environ | kdc.environ()
    return subprocess.run(
        ("klist", *arguments), env=environ, capture_output=True, text=True, check=True
    ).stdout


def test_a_ticket_is_had_by_keytab(kdc_server: KdcServer, tmp_path: Path) -> None:
    """In the file that was asked for, or in the principal's own."""
    for ccache in (kdc_server.kinit("alice", ccache=tmp_path / "tickets"), kdc_server.kinit("alice")):
        shown = klist(kdc_server, "-c", str(ccache))
        assert "Default principal: alice@TEST.LOCAL" in shown
        assert "krbtgt/TEST.LOCAL@TEST.LOCAL" in shown
    assert ccache != tmp_path / "tickets"


def test_a_ticket_gets_service_tickets(kdc_server: KdcServer) -> None:
    """As a client of HTTP needs them."""
    with clients_of(kdc_server):
        assert negotiate(kdc_server.kinit("alice")).startswith("Negotiate YI")


def test_a_ticket_ends_when_it_was_said_to(kdc_server: KdcServer, tmp_path: Path) -> None:
    """`klist -s` fails once it is over."""
    command = ("klist", "-s", "-c", str(kdc_server.kinit("alice", lifetime_s=1, ccache=tmp_path / "short")))
    assert eventually(lambda: subprocess.run(command, check=False).returncode == 1)


def test_a_keytab_holds_the_keys_that_were_asked_for(kdc_server: KdcServer) -> None:
    """Of several principals; nobody else may read it."""
    keytab = kdc_server.keytab("both", "alice", "HTTP/localhost")
    shown = klist(kdc_server, "-k", str(keytab))
    assert [line.split()[-1] for line in shown.splitlines()[3:]] == [
        "alice@TEST.LOCAL",
        "HTTP/localhost@TEST.LOCAL",
    ]
    assert keytab.stat().st_mode & 0o777 == 0o600


def test_another_key_makes_a_keytab_useless(kdc_server: KdcServer, tmp_path: Path) -> None:
    """Until it is written again: the way of an administrator who replaces keytabs."""
    kdc_server.add("rotated")
    old = kdc_server.keytab("rotated").rename(tmp_path / "old.keytab")
    kdc_server.kinit("rotated", keytab_file=old)
    kdc_server.change_key("rotated")
    with pytest.raises(KerberosError, match=r"Password incorrect|Preauthentication failed"):
        kdc_server.kinit("rotated", keytab_file=old)
    assert kdc_server.kinit("rotated", keytab_file=kdc_server.keytab("rotated")).exists()


def test_what_it_refuses_is_said(kdc_server: KdcServer) -> None:
    """In the words of MIT's programs, which end with 0 all the same."""
    assert {"alice", "HTTP/localhost"} < kdc_server.principals()
    with pytest.raises(KerberosError, match="already exists"):
        kdc_server.add("alice")
    with pytest.raises(KerberosError, match="mallory does not exist"):
        kdc_server.keytab("mallory")
    with pytest.raises(KerberosError, match="does not exist"):
        kdc_server.change_key("mallory")
    with pytest.raises(KerberosError, match="no suitable keys"):
        kdc_server.kinit("alice", keytab_file=kdc_server.keytab("HTTP/localhost"))


def test_it_may_go_and_come_back(kdc_server: KdcServer) -> None:
    """With the principals and on the port that it had."""
    kdc_server.process.stop()
    with pytest.raises(KerberosError, match="Cannot contact any KDC"):
        kdc_server.kinit("alice")
    kdc_server.start()
    assert kdc_server.kinit("alice").exists()


def test_it_goes_without_a_trace(kdc_server: KdcServer) -> None:
    """Neither a process nor a directory nor a taken port stays; another KDC beside it is not touched."""
    with KdcServer() as other:
        assert "alice" not in other.principals()
        directory = other.directory
    assert nothing_is_left(str(directory))
    assert eventually(lambda: is_free(int(other.address.rpartition(":")[2])))
    assert kdc_server.process.is_up()


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    """With the packages that bring it; Debian keeps the servers where only root's PATH looks."""
    sbin = tmp_path / "sbin"
    sbin.mkdir()
    for name in ("kadmin.local", "kdb5_util", "krb5kdc"):
        (sbin / name).touch(mode=0o755)
    with pytest.raises(MissingToolError, match=r"kinit is not installed: apt-get install .* krb5-user"):
        find_programs({"PATH": str(tmp_path)}, sbin=(str(sbin),))
    (tmp_path / "kinit").touch(mode=0o755)
    found = find_programs({"PATH": str(tmp_path)}, sbin=(str(sbin),))
    assert (found["kinit"], found["krb5kdc"]) == (str(tmp_path / "kinit"), str(sbin / "krb5kdc"))
