"""The default realm is that of krb5.conf."""

from pathlib import Path

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import default_realm as module
from nncache.hadoop.kerberos.default_realm import default_realm
from tests.kerberos import need_gssapi


@pytest.fixture(autouse=True)
def library() -> None:
    """Skip where there is no libkrb5."""
    need_gssapi()


def test_it_is_that_of_krb5_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As KRB5_CONFIG names it."""
    file = tmp_path / "krb5.conf"
    file.write_text("[libdefaults]\n default_realm = ANY.REALM\n")
    monkeypatch.setenv("KRB5_CONFIG", str(file))
    assert default_realm() == "ANY.REALM"


@pytest.mark.parametrize("text", ["[libdefaults]\n dns_lookup_realm = false\n", "[[["])
def test_without_one_there_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Which names krb5.conf."""
    file = tmp_path / "krb5.conf"
    file.write_text(text)
    monkeypatch.setenv("KRB5_CONFIG", str(file))
    with pytest.raises(KerberosError, match=r"krb5\.conf"):
        default_realm()


def test_without_libkrb5_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is to be installed."""
    monkeypatch.setattr(module, "_LIBRARY", "libnone.so.0")
    with pytest.raises(KerberosError, match="apt-get install"):
        default_realm()
