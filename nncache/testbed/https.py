"""What a cluster with HTTPS has beside others: configuration keys and stores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

STORE_PASSWORD: Final = "changeit"  # noqa: S105 - of files that only the test bed reads
"""Of all keystores and truststores."""

AUTHORITY: Final = "tls"  # where the authority keeps all that is its own, within a cluster's data directory
SERVER: Final = "server"  # the name to which the certificate of all servers is issued


def truststore(directory: Path) -> Path:
    """Return where the authority of this directory keeps what Java trusts it by."""
    return directory / "truststore.p12"


def keystore(directory: Path, name: str) -> Path:
    """Return where the authority of this directory keeps the certificate and the key of `name`."""
    return directory / f"{name}.p12"


def ssl_files(directory: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the files that HTTPS's servers and clients read beside the others, and their keys.

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
