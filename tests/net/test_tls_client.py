"""Whose certificates a client believes; what NameNodes and ZooKeeper make of it is tested with them."""

import ssl
from pathlib import Path

import pytest

from nncache.net.setting_error import SettingError
from nncache.net.tls_client import client_context
from nncache.testbed.certificates import Authority


def test_names_are_checked_whatever_is_believed(tmp_path: Path) -> None:
    """By the authorities of a file alone, or by those of the operating system."""
    ours = client_context("some_ca", str(Authority(tmp_path).ca))
    assert len(ours.get_ca_certs()) == 1
    for context in (ours, client_context("some_ca", "")):
        assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_file_that_cannot_be_used_is_named_with_its_setting(tmp_path: Path) -> None:
    """One that is missing, and one that is no PEM."""
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    for name, why in (
        ("none.pem", "cannot be read: No such file"),
        ("store.jks", "holds no certificate in PEM form"),
    ):
        with pytest.raises(SettingError, match=f"some_ca: {tmp_path}/{name}: {why}"):
            client_context("some_ca", str(tmp_path / name))
