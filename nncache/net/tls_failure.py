"""Say in one line why there is no TLS connection to a server, and what to do.

Source of the codes: x509_vfy.h and sslerr.h of OpenSSL 3.
"""

import ssl
from dataclasses import dataclass
from typing import Final

_OTHER_NAME: Final = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
_NO_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})  # X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT and the like
_DATES: Final = frozenset({9, 10})  # X509_V_ERR_CERT_NOT_YET_VALID, _CERT_HAS_EXPIRED
_NO_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG"}
)
_OLD: Final = frozenset({"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"})
_BAD_CERTIFICATE: Final = frozenset({"SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_CERTIFICATE_UNKNOWN"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsWords:
    """The terms and remedies for one kind of server."""

    server: str  # its name in messages
    addresses: str  # the setting with its address
    authorities: str  # the setting with the trusted authorities
    plain: str  # remedy if it does not use TLS
    old: str  # remedy if it lacks TLS 1.2
    wants_certificate: str  # remedy if it requires a client certificate, or another one
    keystore: str  # the place of its certificate


OF_NAMENODES: Final = TlsWords(
    server="the NameNode",
    addresses="namenode_http",
    authorities="namenode_ca",
    plain="if that is its plain HTTP port, name the one of dfs.namenode.https-address in namenode_http, or set "
    "namenode_tls to false",
    old="enable TLSv1.2 or TLSv1.3 in its ssl-server.xml and its JVM",
    wants_certificate="it wants a client's certificate, and nncache shows it none: set dfs.client.https.need-auth to "
    "false",
    keystore="its keystore (ssl-server.xml)",
)


def why_no_tls(error: ssl.SSLError, words: TlsWords = OF_NAMENODES) -> str:
    """Return the fault of the server's certificate; the text follows the server's address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        about = _about(error.verify_code, words)
        return f"its certificate is not believed: {error.verify_message}: {about}"
    reason = error.reason or ""
    if reason in _NO_TLS:
        return f"it does not answer in TLS: {words.plain}"
    if reason in _OLD:
        return f"it has no TLS 1.2: {words.old}"
    if "CERTIFICATE_REQUIRED" in reason or reason in _BAD_CERTIFICATE:
        return words.wants_certificate
    return f"the TLS handshake failed: {reason or error}"


def _about(code: int, words: TlsWords) -> str:
    if code in _OTHER_NAME:
        return f"name {words.server} in {words.addresses} as its certificate does, or have it certified for that name"
    if code in _NO_AUTHORITY:
        return f"{words.authorities} must name the PEM file of the authority that signed it"
    if code in _DATES:
        return "renew it, or set this host's clock"
    return f"see {words.keystore}"
