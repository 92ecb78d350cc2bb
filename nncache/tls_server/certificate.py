"""The certificate of a server, reloaded when its files change."""

import logging
import ssl
from dataclasses import dataclass
from typing import Final, NoReturn

from nncache.errors import StartError
from nncache.net.secret_file import FileState, fault_of, state_of

_log = logging.getLogger(__name__)

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: only forward secrecy with authenticated encryption, as in Mozilla's intermediate recommendation 5.7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """The files of a certificate.

    Attributes:
        certificate: PEM file of the certificate, followed by its chain.
        key: PEM file of the private key, readable only by this process's user.
        client_ca: PEM file of the authorities whose clients are admitted; "": clients need no certificate.
        prefix: the prefix of the settings that name these files.
    """

    certificate: str
    key: str
    client_ca: str = ""
    prefix: str = "tls_"

    @property
    def states(self) -> tuple[FileState, ...]:
        """The states of the files; they differ after a file was replaced."""
        return tuple(map(state_of, (self.certificate, self.key, self.client_ca)))


class ServerCertificate:
    """The certificate in use.

    Attributes:
        files: its files.
        context: the TLS context of the next handshake.
        ends_at: when the certificate expires, in seconds of Unix time.
        reloads: number of successful reloads.
        failed_reloads: number of failed reloads; the previous certificate stays in use.
    """

    def __init__(self, files: CertificateFiles) -> None:
        """Load the certificate.

        Raises:
            StartError: a file is missing or malformed, or other users may read the key; the message names the remedy.
        """
        self.files = files
        self._states = files.states
        self._fault = ""  # of the last reload; "" if it has succeeded
        self.context, self.ends_at = _load(files)
        self.reloads = 0
        self.failed_reloads = 0

    def look(self) -> None:
        """Reload the files if they have changed, or if that has failed. A failure is logged once for each change.

        What was wrong may be this host's clock or a want of files, which changes nothing about them.
        """
        states, fault = self.files.states, self._fault
        is_new = states != self._states
        if not is_new and not fault:
            return
        self._states = states
        try:
            self.context, self.ends_at = _load(self.files)
        except StartError as error:
            self._fault = str(error)
            if is_new or self._fault != fault:
                self.failed_reloads += 1
                _log.warning("keeping the previous certificate: %s", error)
        else:
            self._fault = ""
            self.reloads += 1
            _log.info("a new certificate is in use: %s", self.files.certificate)


def _load(files: CertificateFiles) -> tuple[ssl.SSLContext, float]:
    prefix = files.prefix
    if fault := fault_of(files.key, f"the private key of {prefix}certificate"):
        raise StartError(f"{prefix}key: {files.key}: {fault}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # it would not be counted; OpenSSL 1.1.1 allows it
    context.set_ciphers(CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    where = f"{prefix}certificate: {files.certificate}"

    def no_password() -> NoReturn:  # OpenSSL would ask on the terminal, and the event loop would wait
        raise StartError(
            f"{prefix}key: {files.key}: must be a key without a password (openssl pkey removes it)"
        )

    try:
        context.load_cert_chain(files.certificate, files.key, no_password)
    except ssl.SSLError as error:
        raise StartError(
            f"{where}: must be a certificate in PEM, with the key of {prefix}key: {error.reason or error}: name two "
            f"that were issued together (openssl x509 -pubkey -noout -in {files.certificate} and openssl pkey -pubout "
            f"-in {files.key} print the same)"
        ) from error
    except OSError as error:
        raise StartError(
            f"{where}: {error.strerror or error}: must be the PEM file of the certificate, with its chain behind it"
        ) from error
    ends_at = _end_of(files.certificate, where, context)
    if files.client_ca:
        try:
            context.load_verify_locations(cafile=files.client_ca)
        except (ssl.SSLError, OSError) as error:
            raise StartError(
                f"{prefix}client_ca: {files.client_ca}: must be certificates of authorities in PEM: {error}"
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context, ends_at


_AT_ANY_TIME: Final = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME, for which Python has no name."""


def _end_of(certificate: str, where: str, server_context: ssl.SSLContext) -> float:
    """Return when a certificate expires, in Unix seconds, as seen in a handshake by a client that trusts only it.

    Raises:
        StartError: the certificate is not valid now, or not valid for a server.
    """
    try:
        begins, ends = _validity(certificate, server_context, _AT_ANY_TIME)
        try:
            _validity(certificate, server_context)
        except ssl.SSLCertVerificationError as error:
            raise StartError(
                f"{where}: {error.verify_message}: it holds from {begins} to {ends}: put a new one, with its key, in "
                "its place, or see whether the clock of this host is right"
            ) from error
    except (ssl.SSLError, OSError) as error:  # OSError: the file was replaced since it was loaded
        raise StartError(f"{where}: {getattr(error, 'verify_message', error)}") from error
    return float(ssl.cert_time_to_seconds(ends))


def _validity(certificate: str, server_context: ssl.SSLContext, flags: int = 0) -> tuple[str, str]:
    """Return the start and end of a certificate's validity, in the format of `ssl.cert_time_to_seconds`.

    Raises:
        ssl.SSLError: a client that trusts only this certificate, and verifies with these flags, rejects it.
    """
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | flags
    trusting.load_verify_locations(cafile=certificate)  # ignores other text in the file
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    found = client.getpeercert()
    assert found is not None
    return str(found["notBefore"]), str(found["notAfter"])
