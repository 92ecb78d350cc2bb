"""Whom the servers and the users of a cluster trust: its KDC and its certificate authority."""

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
    """What a cluster with Kerberos or TLS has beside its servers; of no effect on another."""

    def __init__(self, spec: ClusterSpec, place: Workplace, ports: PortLease) -> None:
        """Lay out the KDC and issue the certificate; starts nothing."""
        self._spec = spec
        self._data = place.data
        self.kdc: Kdc | None = None  # None without Kerberos
        self.authority: Authority | None = None  # has issued the certificate of all servers; None without TLS
        if spec.kerberos is not None:
            directory = place.data / secured.KDC
            log = place.logs / "kdc.log"
            self.kdc = Kdc(directory, ports.take(), log=log, lifeline=place.lifeline)
        if spec.tls is not None or spec.zookeeper_security.tls:
            self.authority = _authority(place.data / https.AUTHORITY)
            self.authority.issue(https.SERVER)

    def start(self) -> None:
        """Start the KDC, with all principals and keytabs of the cluster."""
        if self.kdc is not None:
            self.kdc.start()
            secured.add_principals(self.kdc, self._spec)

    def jvm(self) -> tuple[str, ...]:
        """Return the options by which a JVM finds the KDC."""
        return (f"-Djava.security.krb5.conf={self.kdc.krb5_conf}",) if self.kdc else ()

    @contextmanager
    def tickets(self, user: str) -> Iterator[dict[str, str]]:
        """Yield the variables by which a shell finds tickets of the user, its alone: shells may run at once."""
        if self.kdc is None:
            yield {}
            return
        with tempfile.TemporaryDirectory(prefix="shell-", dir=self.kdc.directory) as directory:
            yield self.kdc.environ(self.kdc.kinit(user, ccache=Path(directory) / "tickets"))

    def access(self, namenode: str) -> WebAccess:
        """Return how the test bed itself asks that NameNode: it signs its own cookies, and needs no ticket."""
        kerberos, tls = self._spec.kerberos, self._spec.tls
        secret = b""
        if kerberos is not None:
            written = secured.write_http_secret(self._data, namenode, kerberos)
            secret = written if kerberos.with_http_authentication else b""
        context = self.authority.client_context() if self.authority and tls and tls.https_only else None
        return WebAccess(secret, context)


def _authority(directory: Path) -> "Authority":
    try:
        from nncache.testbed.certificates import Authority  # noqa: PLC0415 - others start without its libraries
    except ModuleNotFoundError as exc:
        raise MissingToolError(f"{exc.name} is not installed: make .venv/.secured in the checkout") from exc
    return Authority(directory)
