"""A KDC, its principals, keytabs and tickets."""

from pathlib import Path

import pytest

from nncache.testbed.errors import KdcError, MissingToolError
from nncache.testbed.kdc import PROGRAMS
from nncache.testbed.programs import find_programs
from tests.kerberos import KdcServer


def test_what_it_refuses_is_an_error(kdc_server: KdcServer) -> None:
    """The error has the words of MIT's programs, which exit with 0 even on failure."""
    assert {"alice", "HTTP/localhost"} < kdc_server.principals()
    with pytest.raises(KdcError, match="already exists"):
        kdc_server.add("alice")
    with pytest.raises(KdcError, match="mallory does not exist"):
        kdc_server.keytab("mallory")
    with pytest.raises(KdcError, match="does not exist"):
        kdc_server.change_key("mallory")
    with pytest.raises(KdcError, match="no suitable keys"):
        kdc_server.kinit("alice", keytab_file=kdc_server.keytab("HTTP/localhost"))


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the packages to install; Debian installs the servers into root's PATH only."""
    sbin = tmp_path / "sbin"
    sbin.mkdir()
    for name in ("kadmin.local", "kdb5_util", "krb5kdc"):
        (sbin / name).touch(mode=0o755)
    monkeypatch.setattr("nncache.testbed.programs.SBIN", (str(sbin),))
    with pytest.raises(
        MissingToolError, match="not installed: kinit; install with: apt-get install krb5-user"
    ):
        find_programs(*PROGRAMS, environ={"PATH": str(tmp_path)})
    (tmp_path / "kinit").touch(mode=0o755)
    found = find_programs("kinit", "krb5kdc", environ={"PATH": str(tmp_path)})
    assert found == (str(tmp_path / "kinit"), str(sbin / "krb5kdc"))
