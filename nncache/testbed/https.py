"""The additional parts of a cluster with HTTPS: configuration keys and stores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

STORE_PASSWORD: Final = "changeit"  # noqa: S105 - of files that only the test bed reads
"""The password of all keystores and truststores."""

AUTHORITY: Final = "tls"  # the authority's directory within a cluster's data directory
SERVER: Final = "server"  # the name in the certificate that all servers share


def truststore(directory: Path) -> Path:
    """Return the truststore that makes Java trust the authority of this directory."""
    return directory / "truststore.p12"


def keystore(directory: Path, name: str) -> Path:
    """Return the keystore with the certificate and the key of `name`, in the authority's directory."""
    return directory / f"{name}.p12"


def ssl_files(directory: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the additional configuration files of HTTPS servers and clients, with their keys.

    `directory` is the authority's.
    """
    stores = {"keystore": keystore(directory, SERVER), "truststore": truststore(directory)}

    def keys(side: str, kinds: tuple[str, ...]) -> dict[str, str]:
        found = {}
        for kind in kinds:
            found[f"ssl.{side}.{kind}.location"] = str(stores[kind])
            found[f"ssl.{side}.{kind}.password"] = STORE_PASSWORD
            found[f"ssl.{side}.{kind}.type"] = "pkcs12"
        return found

    return {
        "ssl-server.xml": keys("server", ("keystore", "truststore"))
        | {"ssl.server.keystore.keypassword": STORE_PASSWORD},
        "ssl-client.xml": keys("client", ("truststore",)),
    }
