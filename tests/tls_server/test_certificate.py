"""The proxy's certificate: what is refused at the start, and how a new one is loaded."""

import errno
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from nncache.errors import StartError
from nncache.testbed.certificates import Authority, Certificate
from nncache.tls_server.certificate import CertificateFiles, ServerCertificate


def files_of(certificate: Certificate, client_ca: Path | None = None) -> CertificateFiles:
    """Return the settings for its files."""
    return CertificateFiles(
        certificate=str(certificate.chain),
        key=str(certificate.key),
        client_ca="" if client_ca is None else str(client_ca),
    )


def test_it_is_known_until_when_it_holds(authority: Authority) -> None:
    """The time is exact to the second; an alert uses it."""
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
    made = ServerCertificate(files_of(authority.issue("proxy", not_after=ends)))
    assert made.ends_at == ends.timestamp()
    assert made.context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert made.context.verify_mode is ssl.CERT_NONE
    assert made.context.options & ssl.OP_NO_RENEGOTIATION, "another handshake would be counted nowhere"


def test_text_beside_a_certificate_is_passed_over(authority: Authority) -> None:
    """`openssl x509 -text` and authorities write such text, in any language."""
    issued = authority.issue("proxy")
    issued.chain.write_bytes("Prüfstelle: Zürich\n".encode() + issued.chain.read_bytes())
    assert ServerCertificate(files_of(issued)).ends_at > 0


def test_clients_may_have_to_show_one(authority: Authority) -> None:
    """It must be issued by the configured authorities."""
    made = ServerCertificate(files_of(authority.issue("proxy"), authority.ca))
    assert made.context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda files: Path(files.key).chmod(0o640), r"tls_key: .*mode 0640.*chmod 0400"),
        (lambda files: Path(files.key).unlink(), r"tls_key: .*No such file"),
        (lambda files: Path(files.certificate).unlink(), r"tls_certificate: .*No such file"),
        (
            lambda files: Path(files.certificate).write_text("x"),
            r"tls_certificate: .*must be a certificate in PEM",
        ),
        (lambda files: Path(files.client_ca).write_text("x"), r"tls_client_ca: .*must be certificates"),
    ],
)
def test_what_cannot_be_used_is_named(authority: Authority, tmp_path: Path, spoil: object, text: str) -> None:
    """The message has the setting, the file and what is expected."""
    client_ca = tmp_path / "clients.pem"
    client_ca.write_bytes(authority.ca.read_bytes())
    files = files_of(authority.issue("proxy"), client_ca)
    assert callable(spoil)
    spoil(files)
    with pytest.raises(StartError, match=text):
        ServerCertificate(files)


def test_a_key_with_a_password_is_refused(authority: Authority) -> None:
    """OpenSSL would ask on the terminal, at a new key of a running proxy as well: nothing is answered meanwhile."""
    issued = authority.issue("proxy")
    key = load_pem_private_key(issued.key.read_bytes(), None)
    issued.key.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password"))
    )
    with pytest.raises(StartError, match=r"^tls_key: .*proxy\.key: must be a key without a password"):
        ServerCertificate(files_of(issued))


def test_the_key_of_another_is_refused(authority: Authority) -> None:
    """The pair is checked before any client connects."""
    one, other = authority.issue("one"), authority.issue("other")
    with pytest.raises(
        StartError, match=r"with the key of tls_key: .*issued together .*openssl x509 -pubkey"
    ):
        ServerCertificate(CertificateFiles(certificate=str(one.chain), key=str(other.key)))


@pytest.mark.parametrize(
    ("from_day", "text"),
    [
        (-2, r"certificate has expired: it holds from .* to .* GMT: put a new one"),
        (1, r"not yet valid: it holds from .*see whether the clock"),
    ],
)
def test_one_that_does_not_hold_now_is_refused(authority: Authority, from_day: int, text: str) -> None:
    """No client trusts an expired certificate; one that is not yet valid may be due to a wrong clock."""
    begins = datetime.now(UTC) + timedelta(days=from_day)
    issued = authority.issue("proxy", not_before=begins, not_after=begins + timedelta(days=1))
    with pytest.raises(StartError, match=text):
        ServerCertificate(files_of(issued))


def test_a_new_one_is_taken_up_and_a_bad_one_is_not(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """The previous certificate stays in use, and the log says so once."""
    made = ServerCertificate(files_of(authority.issue("proxy")))
    first = made.context
    made.look()
    assert (made.context is first, made.reloads) == (True, 0)
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    issued = authority.issue("proxy", not_after=ends)
    made.look()
    assert (made.context is first, made.reloads, made.ends_at) == (False, 1, ends.timestamp())
    second = made.context
    issued.chain.write_text("no certificate any more")
    for _ in range(2):
        made.look()
    assert (made.context is second, made.failed_reloads) == (True, 1)
    assert caplog.text.count("keeping the previous certificate") == 1


def test_what_was_refused_is_taken_once_it_can_be(
    authority: Authority, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator does what the log says, or a want of files passes: no content changes."""
    made = ServerCertificate(files_of(authority.issue("proxy")))
    issued = authority.issue("proxy")
    issued.key.chmod(0o644)
    for _ in range(2):
        made.look()
    assert (made.reloads, made.failed_reloads, caplog.text.count("chmod 0400")) == (0, 1, 1)
    issued.key.chmod(0o400)
    with monkeypatch.context() as scarce:
        scarce.setattr(ssl.SSLContext, "load_cert_chain", _too_many_files)
        made.look()
    assert (made.reloads, made.failed_reloads, caplog.text.count("Too many open files")) == (0, 2, 1)
    for _ in range(2):
        made.look()
    assert (made.reloads, made.failed_reloads) == (1, 2)


def _too_many_files(*_: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")
