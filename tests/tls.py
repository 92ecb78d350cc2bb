"""TLS servers with a certificate, and clients that trust its authority."""

import ssl

from nncache.hadoop.namenode_settings import NameNodeTlsSettings
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.testbed.certificates import Authority


def server_context(authority: Authority, *identities: str) -> ssl.SSLContext:
    """Return a server's TLS context with a certificate for these names (default: localhost and 127.0.0.1)."""
    issued = authority.issue("-".join(identities) or "server", *identities)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.chain, issued.key)
    return context


def web_of(authority: Authority) -> NameNodeWeb:
    """Return the TLS settings of clients that trust this authority's NameNodes."""
    return NameNodeWeb(NameNodeTlsSettings(namenode_tls=True, namenode_ca=str(authority.ca)))
