"""The trusted authorities: from which file, and from when on."""

import logging
import os
import ssl
from pathlib import Path

import pytest

from nncache.hadoop.namenode_settings import NameNodeTlsSettings
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.net.setting_error import SettingError
from nncache.testbed.certificates import Authority
from tests.hadoop.fake_jmx import FakeJmx, fake_jmx
from tests.hadoop.test_pool import until, watched
from tests.patience import HANG_S
from tests.tls import server_context, web_of


def with_ca(file: Path) -> NameNodeWeb:
    """Return the settings for NameNodes with the authorities of this file."""
    return NameNodeWeb(NameNodeTlsSettings(namenode_tls=True, namenode_ca=str(file)))


def subjects(context: ssl.SSLContext | None) -> list[bytes]:
    """Return the trusted authorities."""
    assert context is not None
    return context.get_ca_certs(binary_form=True)


def test_without_tls_there_is_no_context() -> None:
    """The URLs are http."""
    assert (PLAIN.url("nn1:9870"), PLAIN.context, PLAIN.ssl) == ("http://nn1:9870", None, True)


def test_with_tls_the_host_is_checked_from_version_1_2_on(tmp_path: Path) -> None:
    """Only these authorities are trusted, not those of the operating system."""
    web = web_of(Authority(tmp_path))
    context = web.context
    assert context is not None
    assert web.ssl is context
    assert web.url("nn1:9871") == "https://nn1:9871"
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert len(subjects(context)) == 1


def test_without_a_file_the_system_authorities_are_trusted() -> None:
    """Host names are checked as well."""
    context = NameNodeWeb(NameNodeTlsSettings(namenode_tls=True)).context
    assert context is not None
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """The error has the key, and the required content."""
    (tmp_path / "keystore.jks").write_bytes(b"\xfe\xed\xfe\xed")
    for name, why in (
        ("none.pem", "cannot be read: No such file"),
        ("", "cannot be read: Is a directory"),
        ("keystore.jks", r"holds no certificate in PEM form \(keytool"),
    ):
        file = tmp_path / name
        with pytest.raises(SettingError, match=f"namenode_ca: {file}: {why}"):
            with_ca(file)


def test_a_file_without_tls_is_refused() -> None:
    """Nothing would read it."""
    with pytest.raises(SettingError, match=r"namenode_ca: ca\.pem: is used only with namenode_tls = true"):
        NameNodeTlsSettings(namenode_ca="ca.pem")


def test_a_file_that_changes_is_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A removed authority is no longer trusted; a broken file changes nothing, and is logged once."""
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    file = tmp_path / "ca.pem"
    file.write_bytes(old.ca.read_bytes())
    web = with_ca(file)
    first = web.context
    assert web.context is first
    replace(file, new.ca.read_bytes())
    second = web.context
    assert second is not first
    assert subjects(second) != subjects(first)
    replace(file, b"spoilt")
    with caplog.at_level(logging.ERROR):
        assert web.context is second
        assert web.context is second
    assert caplog.text.count("were read before stay in force") == 1
    file.unlink()
    assert web.context is second
    replace(file, old.ca.read_bytes())
    assert subjects(web.context) == subjects(first)


def replace(file: Path, content: bytes) -> None:
    """Replace a file atomically, as deployments do."""
    other = file.with_suffix(".new")
    other.write_bytes(content)
    os.replace(other, file)  # noqa: PTH105 - as a program that is not Python's pathlib would


async def test_a_standby_that_is_not_believed_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next failover needs it; meanwhile the active one is watched over HTTPS."""
    authority = Authority(tmp_path / "own")
    foreign = server_context(Authority(tmp_path / "foreign"))
    with caplog.at_level(logging.WARNING):
        async with (
            fake_jmx(FakeJmx(tls=server_context(authority))) as active,
            fake_jmx(FakeJmx(tls=foreign, state="standby")) as standby,
            watched(active, standby, web=web_of(authority)) as pool,
        ):
            assert (await pool.wait_active(HANG_S)).namenode == active.namenode
            failed = pool.stats().failed_probes
            await until(active, lambda: pool.stats().failed_probes > failed + 2)
            assert standby.asked == 0
    (line,) = [each.getMessage() for each in caplog.records]
    assert line.startswith(f"JMX of {standby.namenode.http}: its certificate is not believed: ")
