"""Say in one line why there is no TLS connection to a NameNode, and what to do. (hadoop/tls_failure.py)

Source of the codes: x509_vfy.h and sslerr.h of OpenSSL 3.
"""

import ssl
from typing import Final

_OTHER_NAME: Final = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
_NO_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})  # X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT and the like
_DATES: Final = frozenset({9, 10})  # X509_V_ERR_CERT_NOT_YET_VALID, _CERT_HAS_EXPIRED
_NO_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG"}
)
_OLD: Final = frozenset({"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"})


def why_no_tls(error: ssl.SSLError) -> str:
    """Return what is wrong with what the server shows; the text follows its address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {error.verify_message}: {_about(error.verify_code)}"
    reason = error.reason or ""
    if reason in _NO_TLS:
        return (
            "it does not answer in TLS: if that is its plain HTTP port, name the one of dfs.namenode.https-address in "
            "namenode_http, or set namenode_tls to false"
        )
    if reason in _OLD:
        return "it has no TLS 1.2: enable TLSv1.2 or TLSv1.3 in its ssl-server.xml and its JVM"
    if "CERTIFICATE_REQUIRED" in reason or reason == "SSLV3_ALERT_BAD_CERTIFICATE":
        return "it wants a client's certificate, and nncache shows it none: set dfs.client.https.need-auth to false"
    return f"the TLS handshake failed: {reason or error}"


def _about(code: int) -> str:
    if code in _OTHER_NAME:
        return (
            "name the NameNode in namenode_http as its certificate does, or have it certified for that name"
        )
    if code in _NO_AUTHORITY:
        return "namenode_ca must name the PEM file of the authority that signed it"
    if code in _DATES:
        return "renew it, or set this host's clock"
    return "see its keystore (ssl-server.xml)"
