"""The KDC and the certificate authority that a cluster's servers and users trust."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nncache.testbed import https, secured
from nncache.testbed.errors import MissingToolError
from nncache.testbed.kdc import Kdc
from nncache.testbed.ports import PortLease
from nncache.testbed.readiness import WebAccess
from nncache.testbed.spec import ClusterSpec
from nncache.testbed.workplace import Workplace

if TYPE_CHECKING:
    from nncache.testbed.certificates import Authority


class Trust:
    """The KDC and the certificate authority of a cluster with Kerberos or TLS; no effect on other clusters."""

    def __init__(self, spec: ClusterSpec, place: Workplace, ports: PortLease) -> None:
        """Prepare the KDC without starting it, and issue the servers' certificate."""
        self._spec = spec
        self._data = place.data
        self.kdc: Kdc | None = None  # None without Kerberos
        self.authority: Authority | None = None  # the issuer of the servers' certificate; None without TLS
        if spec.kerberos is not None:
            directory = place.data / secured.KDC
            log = place.logs / "kdc.log"
            self.kdc = Kdc(directory, ports.take(), log=log, lifeline=place.lifeline)
        if spec.tls is not None or spec.zookeeper_security.tls:
            self.authority = _authority(place.data / https.AUTHORITY)
            self.authority.issue(https.SERVER)

    def start(self) -> None:
        """Start the KDC, and create all principals and keytabs of the cluster."""
        if self.kdc is not None:
            self.kdc.start()
            secured.add_principals(self.kdc, self._spec)

    def jvm(self) -> tuple[str, ...]:
        """Return the options with which a JVM finds the KDC."""
        return (f"-Djava.security.krb5.conf={self.kdc.krb5_conf}",) if self.kdc else ()

    @contextmanager
    def tickets(self, user: str) -> Iterator[dict[str, str]]:
        """Yield the environment variables of a shell with its own tickets of the user: shells may run concurrently."""
        if self.kdc is None:
            yield {}
            return
        with tempfile.TemporaryDirectory(prefix="shell-", dir=self.kdc.directory) as directory:
            yield self.kdc.environ(self.kdc.kinit(user, ccache=Path(directory) / "tickets"))

    def access(self, namenode: str) -> WebAccess:
        """Return the test bed's own access to a NameNode: it signs its cookies itself, and needs no ticket."""
        kerberos, tls = self._spec.kerberos, self._spec.tls
        secret = b""
        if kerberos is not None:
            written = secured.write_http_secret(self._data, namenode, kerberos)
            secret = written if kerberos.with_http_authentication else b""
        context = self.authority.client_context() if self.authority and tls and tls.https_only else None
        return WebAccess(secret, context)


def _authority(directory: Path) -> "Authority":
    try:
        from nncache.testbed.certificates import Authority  # noqa: PLC0415 - other clusters start without its libraries
    except ModuleNotFoundError as exc:
        raise MissingToolError(f"{exc.name} is not installed: make .venv/.secured in the checkout") from exc
    return Authority(directory)
