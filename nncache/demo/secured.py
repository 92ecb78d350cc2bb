"""A secured system, for the story of `make demo SECURE=1`: KDC, NameNode, proxy with TLS, clients."""

import asyncio
import base64
import http.client
import os
import ssl
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.demo.options import DemoError, Options
from nncache.demo.secured_steps import Answer
from nncache.demo.system import Show, typed
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.identity import Negotiation, identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.testbed import Cluster, ClusterSpec, Kdc, Kerberos
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import Proxy
from nncache.testbed.kdc import find_programs, keytab
from nncache.testbed.ports import PortLease
from nncache.testbed.secured import SERVICE, SERVICE_KEYTAB
from nncache.testbed.spec import HOST_NAME, REALM

OWNER: Final = "alice"
STRANGER: Final = "bob"
PRIVATE: Final = f"/user/{OWNER}/private"
"""The directory in which everything happens: its owner alone may pass it."""
SECRET: Final = f"{PRIVATE}/salaries"

_GLOB: Final = f"{PRIVATE}/*"
_TIMEOUT_S: Final = 30.0
_PREFIX: Final = "/webhdfs/v1"

Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredSystem:
    """What runs, and clients of it.

    Attributes:
        address: where the proxy is asked over TLS.
        trusted: by what a client knows the proxy.
    """

    cluster: Cluster
    kdc: Kdc
    proxy: Proxy
    address: str
    authority: Authority
    trusted: ssl.SSLContext

    async def negotiation(self, user: str) -> Negotiation:
        """Get this user a ticket from the KDC, and begin a login at the web server of this host."""
        cache = await asyncio.to_thread(self.kdc.kinit, user)
        identity = identity_of(KerberosSettings(ticket_cache=f"FILE:{cache}"), time.monotonic)
        assert identity is not None
        return await identity.negotiation(HOST_NAME, _TIMEOUT_S)

    async def ask(
        self, path: str, op: str, fields: Fields = (), *, query: str = "", method: str = "GET"
    ) -> Answer:
        """Ask the proxy once, over TLS, on a connection of its own."""
        host, _, port = self.address.rpartition(":")

        def once() -> Answer:
            connection = http.client.HTTPSConnection(
                host, int(port), timeout=_TIMEOUT_S, context=self.trusted
            )
            try:
                connection.request(method, f"{_PREFIX}{path}?op={op}{query}", headers=dict(fields))
                reply = connection.getresponse()
                body = reply.read()
            finally:
                connection.close()
            return Answer(
                status=reply.status,
                is_hit=reply.headers.get("Cache-Status", "").startswith("nncache; hit"),
                body=body,
                set_cookie=reply.headers.get("Set-Cookie", ""),
                proof=tuple(reply.headers.get_all("WWW-Authenticate", [])),
            )

        return await asyncio.to_thread(once)

    async def make_private(self) -> None:
        """Make what only its owner may see, at the NameNode, as HDFS's superuser."""
        for path, op, query in (
            (SECRET, "MKDIRS", ""),
            (f"/user/{OWNER}", "SETOWNER", f"&owner={OWNER}"),
            (PRIVATE, "SETOWNER", f"&owner={OWNER}"),
            (PRIVATE, "SETPERMISSION", "&permission=700"),
        ):
            await asyncio.to_thread(self._at_namenode, path, op, query)

    def _at_namenode(self, path: str, op: str, query: str) -> None:
        namenode = self.cluster.namenodes[0]
        connection = namenode.access.connect(namenode.http, _TIMEOUT_S)
        try:
            headers = namenode.access.headers(self.cluster.superuser)
            connection.request("PUT", f"{_PREFIX}{path}?op={op}{query}", headers=headers)
            reply = connection.getresponse()
            body = reply.read()
        finally:
            connection.close()
        if reply.status != http.client.OK:
            raise DemoError(f"{op} of {path} failed: {reply.status} {body.decode(errors='replace')}")


def see_what_is_missing() -> None:
    """Return if Kerberos can be had on this machine.

    Raises:
        DemoError: Python's gssapi is missing; names the packages.
        TestbedError: MIT Kerberos is; names its packages.
    """
    find_programs()
    try:
        gss.see_installed()
    except KerberosError as error:
        raise DemoError(f"{error}; then remove .venv/.secured and run make demo SECURE=1 again") from error


@contextmanager
def running_secured(options: Options, show: Show) -> Iterator[SecuredSystem]:
    """Start everything, and stop it when the context ends, however that comes.

    Raises:
        TestbedError, DemoError: something is missing or does not start; nothing is left running then.
    """
    see_what_is_missing()
    with ExitStack() as stack:
        with show.working("A real KDC and a real HDFS that asks for Kerberos, on this machine") as say:
            spec = ClusterSpec(
                hadoop_version=options.hadoop_version, kerberos=Kerberos(), with_datanode=False
            )
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        assert cluster.kdc is not None
        stack.enter_context(_clients_of(cluster.kdc))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nncache-demo-")))
        authority = Authority(directory)
        address = f"{HOST_NAME}:{stack.enter_context(PortLease()).take()}"
        proxy = Proxy(*_flags(cluster, cluster.kdc, authority, address))
        stack.callback(proxy.close)
        with show.working("The proxy: a principal of its own, and TLS for its clients"):
            show.command(typed(*proxy.typed))
            proxy.start().await_gate()
        yield SecuredSystem(
            cluster=cluster,
            kdc=cluster.kdc,
            proxy=proxy,
            address=address,
            authority=authority,
            trusted=authority.client_context(),
        )


def forged(cookie: str, user: str) -> str:
    """Return a cookie for this user with a signature of another secret."""
    signature = base64.b64encode(bytes(32)).decode()
    name, _, _ = cookie.partition("=")
    return f'{name}="u={user}&p={user}@{REALM}&t=kerberos&e=9999999999999&s={signature}"'


def _flags(cluster: Cluster, kdc: Kdc, authority: Authority, address: str) -> tuple[str, ...]:
    key = keytab(kdc.directory, SERVICE_KEYTAB)
    key.chmod(0o400)
    issued = authority.issue("proxy")
    namenode = cluster.namenodes[0]
    return (
        *("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc),
        *("--principal", f"{SERVICE}@{REALM}", "--keytab", str(key)),
        *("--namenode-principal", f"nn/_HOST@{REALM}", "--glob", _GLOB),
        *("--tls-listen", address, "--tls-certificate", str(issued.chain), "--tls-key", str(issued.key)),
    )


@contextmanager
def _clients_of(kdc: Kdc) -> Iterator[None]:
    """Make this process, and those that it starts, clients of this KDC."""
    ours = kdc.environ()
    before = {name: os.environ.get(name) for name in (*ours, "KRB5CCNAME", "KRB5_KTNAME")}
    for name in before:
        os.environ.pop(name, None)
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def hints(system: SecuredSystem) -> tuple[tuple[str, str], ...]:
    """Return what to try on the running system: purpose, and a line to copy."""
    environ = " ".join(f"{name}={value}" for name, value in system.kdc.environ().items())
    own = keytab(system.kdc.directory, OWNER)
    asking = f"curl --cacert {system.authority.ca} --negotiate -u : -i"
    return (
        ("Be a client of this KDC:", f"export {environ}"),
        (f"Be {OWNER} (or {STRANGER}: the keytab beside it):", f"kinit -kt {own} {OWNER}"),
        (
            "Ask with the ticket, and keep the cookie:",
            f"{asking} -c jar 'https://{system.address}{_PREFIX}{SECRET}?op=GETFILESTATUS'",
        ),
        (
            "Ask with the cookie alone; look at Cache-Status:",
            f"curl --cacert {system.authority.ca} -b jar -i 'https://{system.address}{_PREFIX}{SECRET}?op=GETFILESTATUS'",
        ),
        ("What the proxy knows of it, and why:", typed("explain", SECRET, "--admin", system.proxy.admin)),
        ("The proxy's own pages, for a browser:", f"http://{system.proxy.admin}/"),
    )
