"""A certificate authority, and certificates in the formats of Java and OpenSSL."""

import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)

from nncache.testbed.https import STORE_PASSWORD, keystore, truststore

_HERE = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The files of a certificate and its key."""

    chain: Path  # the certificate, as PEM
    key: Path  # its private key, as unencrypted PEM that only the owner may read
    keystore: Path  # both, as PKCS12
    subject: str  # its distinguished name (RFC 4514), by which ZooKeeper's ACLs name a client


class Authority:
    """A certificate authority. Programs that read `ca` or `truststore` trust the certificates that it issues."""

    def __init__(self, directory: Path) -> None:
        """Load the authority from the directory, or create it there."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self.ca = directory / "ca.pem"  # its certificate, as PEM
        self.truststore = truststore(directory)  # the same certificate, as PKCS12 for Java
        key = directory / "ca.key"
        if self.ca.exists():
            self._authority = trustme.CA.from_pem(self.ca.read_bytes(), key.read_bytes())
            return
        self._authority = trustme.CA()
        certificate = self._authority.cert_pem.bytes()
        entry = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(certificate), b"ca")
        self.truststore.write_bytes(pkcs12.serialize_java_truststore([entry], _encryption()))
        _write_private(key, self._authority.private_key_pem.bytes())
        self.ca.write_bytes(certificate)

    def issue(
        self,
        name: str,
        *identities: str,
        not_before: datetime | None = None,
        not_after: datetime | None = None,
    ) -> Certificate:
        """Issue a certificate to `name` and return its files. They replace those of an earlier certificate of the name.

        It is valid for servers and clients. `identities` are its host names and addresses; default: localhost and
        127.0.0.1. Without dates it is valid now and for ten years.
        """
        leaf = self._authority.issue_cert(
            *(identities or _HERE),
            common_name=name,
            organization_unit_name="test bed",  # trustme's default is different each time
            organization_name="nncache",
            not_before=not_before,
            not_after=not_after,
        )
        chain = b"".join(part.bytes() for part in leaf.cert_chain_pems)
        private = leaf.private_key_pem.bytes()
        certificate, *others = x509.load_pem_x509_certificates(chain)
        key = load_pem_private_key(private, None)
        assert isinstance(key, EllipticCurvePrivateKey)  # trustme's default key type
        issued = Certificate(
            chain=self._directory / f"{name}.pem",
            key=self._directory / f"{name}.key",
            keystore=keystore(self._directory, name),
            subject=certificate.subject.rfc4514_string(),
        )
        store = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, others, _encryption())
        _write_private(issued.keystore, store)
        _write_private(issued.key, private)
        issued.chain.write_bytes(chain)
        return issued

    def client_context(self, certificate: Certificate | None = None) -> ssl.SSLContext:
        """Return the TLS context of a client that trusts only this authority and presents the certificate, if any."""
        context = ssl.create_default_context(cafile=self.ca)
        if certificate is not None:
            context.load_cert_chain(certificate.chain, certificate.key)
        return context


def _encryption() -> BestAvailableEncryption:
    return BestAvailableEncryption(STORE_PASSWORD.encode())


def _write_private(file: Path, content: bytes) -> None:
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_bytes(content)
