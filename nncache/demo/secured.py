"""The story of `make demo SECURE=1`: on a cluster with Kerberos, alice's ticket decides what she sees."""

import asyncio
import base64
import http.client
import json
import os
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from nncache.demo.polling import DemoError
from nncache.demo.story import Chapter
from nncache.demo.system import typed
from nncache.demo.terminal import Step, Terminal
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.identity import identity_of
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

_TIMEOUT_S: Final = 30.0
_PREFIX: Final = "/webhdfs/v1"
_ASKED: Final = 20
_FORWARDED_AT_MOST: Final = 5
"""Questions with a new credential that the NameNode may answer: the first of each directory on the way."""

_ASKED_IN_VAIN: Final = 5

Fields = Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """What a client got."""

    status: int
    is_hit: bool
    body: bytes
    set_cookie: str
    proof: tuple[str, ...]


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

    async def ask(
        self, path: str, op: str, fields: Fields = (), *, query: str = "", method: str = "GET"
    ) -> Answer:
        """Ask the proxy once, over TLS, on a connection of its own."""
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPSConnection(host, int(port), timeout=_TIMEOUT_S, context=self.trusted)

        def once() -> Answer:
            with closing(connection):
                connection.request(method, f"{_PREFIX}{path}?op={op}{query}", headers=dict(fields))
                reply = connection.getresponse()
                return Answer(
                    reply.status,
                    reply.headers.get("Cache-Status", "").startswith("nncache; hit"),
                    reply.read(),
                    reply.headers.get("Set-Cookie", ""),
                    tuple(reply.headers.get_all("WWW-Authenticate", [])),
                )

        return await asyncio.to_thread(once)

    async def ask_often(self, fields: Fields, query: str = "", times: int = _ASKED_IN_VAIN) -> list[Answer]:
        """Ask for what only its owner may see."""
        return [await self.ask(SECRET, "GETFILESTATUS", fields, query=query) for _ in range(times)]

    async def log_in(self, user: str, path: str) -> tuple[Answer, str]:
        """Ask with a ticket of this user; return the answer, and what is wrong with the server's own token."""
        cache = await asyncio.to_thread(self.kdc.kinit, user)
        identity = identity_of(KerberosSettings(ticket_cache=f"FILE:{cache}"), time.monotonic)
        assert identity is not None
        negotiation = await identity.negotiation(HOST_NAME, _TIMEOUT_S)
        answer = await self.ask(path, "GETFILESTATUS", (("Authorization", negotiation.field),))
        try:
            await negotiation.see_proven(answer.proof)
        except KerberosError as error:
            return answer, str(error)
        return answer, ""

    async def cookie(self, user: str) -> Fields:
        """Return the field with the cookie that this user's ticket gets."""
        answer, trouble = await self.log_in(user, "/")
        if not answer.set_cookie or trouble:
            raise DemoError(f"{user} gets no cookie: {answer.status} {trouble}")
        return (("Cookie", answer.set_cookie.partition(";")[0]),)

    def make_private(self) -> None:
        """Make what only its owner may see, at the NameNode, as HDFS's superuser."""
        namenode = self.cluster.namenodes[0]
        for path, op, query in (
            (SECRET, "MKDIRS", ""),
            (f"/user/{OWNER}", "SETOWNER", f"&owner={OWNER}"),
            (PRIVATE, "SETOWNER", f"&owner={OWNER}"),
            (PRIVATE, "SETPERMISSION", "&permission=700"),
        ):
            with closing(namenode.access.connect(namenode.http, _TIMEOUT_S)) as connection:
                headers = namenode.access.headers(self.cluster.superuser)
                connection.request("PUT", f"{_PREFIX}{path}?op={op}{query}", headers=headers)
                reply = connection.getresponse()
                if reply.status != http.client.OK:
                    raise DemoError(f"{op} of {path}: {reply.status} {reply.read().decode(errors='replace')}")


@contextmanager
def running_secured(hadoop_version: str, terminal: Terminal) -> Iterator[SecuredSystem]:
    """Start everything, and stop it when the context ends, however that comes.

    Raises:
        TestbedError, DemoError: something is missing, with its packages, or does not start; nothing is left running.
    """
    find_programs()
    try:
        gss.see_installed()
    except KerberosError as error:
        raise DemoError(f"{error}; then remove .venv/.secured and run make demo SECURE=1 again") from error
    with ExitStack() as stack:
        with terminal.working("A real KDC and a real HDFS that asks for Kerberos, on this machine") as say:
            spec = ClusterSpec(hadoop_version=hadoop_version, kerberos=Kerberos(), with_datanode=False)
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        kdc, namenode = cluster.kdc, cluster.namenodes[0]
        assert kdc is not None
        stack.enter_context(_clients_of(kdc))
        authority = Authority(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nncache-demo-"))))
        issued, key = authority.issue("proxy"), keytab(kdc.directory, SERVICE_KEYTAB)
        key.chmod(0o400)
        address = f"{HOST_NAME}:{stack.enter_context(PortLease()).take()}"
        proxy = Proxy(
            *("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc),
            *("--principal", f"{SERVICE}@{REALM}", "--keytab", str(key)),
            *("--namenode-principal", f"nn/_HOST@{REALM}", "--glob", f"{PRIVATE}/*"),
            *("--tls-listen", address, "--tls-certificate", str(issued.chain), "--tls-key", str(issued.key)),
        )
        stack.callback(proxy.close)
        with terminal.working("The proxy: a principal of its own, and TLS for its clients") as say:
            say(f"$ {typed(*proxy.typed)}")
            proxy.start().await_gate()
        yield SecuredSystem(
            cluster=cluster,
            kdc=kdc,
            proxy=proxy,
            address=address,
            authority=authority,
            trusted=authority.client_context(),
        )


@contextmanager
def _clients_of(kdc: Kdc) -> Iterator[None]:
    """Make this process, and those that it starts, clients of this KDC."""
    before = dict(os.environ)
    for name in ("KRB5CCNAME", "KRB5_KTNAME"):
        os.environ.pop(name, None)
    os.environ.update(kdc.environ())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def hints(system: SecuredSystem) -> tuple[tuple[str, str], ...]:
    """Return what to try on the running system: purpose, and a line to copy."""
    environ = " ".join(f"{name}={value}" for name, value in system.kdc.environ().items())
    own = keytab(system.kdc.directory, OWNER)
    asking = (
        f"curl --cacert {system.authority.ca} -i 'https://{system.address}{_PREFIX}{SECRET}?op=GETFILESTATUS'"
    )
    return (
        ("Be a client of this KDC:", f"export {environ}"),
        (f"Be {OWNER} (or {STRANGER}: the keytab beside it):", f"kinit -kt {own} {OWNER}"),
        ("Ask with the ticket, and keep the cookie:", f"{asking} --negotiate -u : -c jar"),
        ("Ask with the cookie alone; look at Cache-Status:", f"{asking} -b jar"),
        ("What the proxy knows of it, and why:", typed("explain", SECRET, "--admin", system.proxy.admin)),
        ("The proxy's own pages, for a browser:", f"http://{system.proxy.admin}/"),
    )


def _seen(answers: Sequence[Answer]) -> str:
    """Return "20 x 200; 19 hits"."""
    statuses = Counter(each.status for each in answers)
    return f"{', '.join(f'{n} x {s}' for s, n in statuses.items())}; {sum(a.is_hit for a in answers)} hits"


def _from_memory(title: str, answers: Sequence[Answer]) -> Step:
    """Judge questions with a credential that the NameNode accepts: the first few are its own to answer."""
    least = len(answers) - _FORWARDED_AT_MOST
    right = all(each.status == http.client.OK and each.body == answers[0].body for each in answers)
    expected = f"200 each time, at least {least} of {len(answers)} from memory"
    return Step(title, expected, _seen(answers), right and sum(each.is_hit for each in answers) >= least)


def _refused(title: str, answers: Sequence[Answer], status: int, words: bytes = b"") -> Step:
    """Judge questions that are to be refused each time, by the NameNode and with these words."""
    right = all(
        each.status == status and not each.is_hit and words in each.body and b"FileStatus" not in each.body
        for each in answers
    )
    return Step(title, f"{status} each time {words.decode()}; nothing from memory", _seen(answers), right)


async def _owner(system: SecuredSystem) -> tuple[Step, ...]:
    """Log in with a ticket, then ask with the cookie that came of it."""
    await asyncio.to_thread(system.make_private)
    answer, trouble = await system.log_in(OWNER, SECRET)
    has_cookie = f"u={OWNER}&" in answer.set_cookie
    logged_in = Step(
        f"{OWNER}'s ticket",
        f"200 by the NameNode, with a cookie of {OWNER}'s, and it proves that it is HTTP/localhost",
        f"{_seen([answer])}, {'a' if has_cookie else 'no'} cookie of {OWNER}'s, {trouble or 'name proven'}",
        answer.status == http.client.OK and has_cookie and not answer.is_hit and not trouble,
    )
    answers = await system.ask_often((("Cookie", answer.set_cookie.partition(";")[0]),), times=_ASKED)
    return logged_in, _from_memory(f"{OWNER}'s cookie", answers)


async def _stranger(system: SecuredSystem) -> tuple[Step, ...]:
    """Ask for the same with another user's ticket and cookie."""
    answer, _ = await system.log_in(STRANGER, SECRET)
    answers, words = await system.ask_often(await system.cookie(STRANGER)), b"Permission denied: user="
    return (
        _refused(f"{STRANGER}'s ticket", [answer], http.client.FORBIDDEN, words),
        _refused(f"{STRANGER}'s cookie", answers, http.client.FORBIDDEN, words),
    )


async def _impostor(system: SecuredSystem) -> tuple[Step, ...]:
    """Ask with a cookie that the NameNode has not signed, and with a name alone."""
    signature = base64.b64encode(bytes(32)).decode()
    forged = f'hadoop.auth="u={OWNER}&p={OWNER}@{REALM}&t=kerberos&e=9999999999999&s={signature}"'
    named = await system.ask_often((), f"&user.name={OWNER}")
    return (
        _refused("A forged cookie", await system.ask_often((("Cookie", forged),)), http.client.UNAUTHORIZED),
        _refused(f"user.name={OWNER}", named, http.client.UNAUTHORIZED),
    )


async def _token(system: SecuredSystem) -> tuple[Step, ...]:
    """Get a delegation token, ask with it, and cancel it: all through the proxy."""
    cookie = await system.cookie(OWNER)
    given = await system.ask("/", "GETDELEGATIONTOKEN", cookie, query=f"&renewer={OWNER}")
    if given.status != http.client.OK:
        raise DemoError(f"no delegation token: {given.status} {given.body.decode(errors='replace')}")
    token = json.loads(given.body)["Token"]["urlString"]
    before = await system.ask_often((), f"&delegation={token}", _ASKED)
    cancelled = await system.ask("/", "CANCELDELEGATIONTOKEN", cookie, query=f"&token={token}", method="PUT")
    if cancelled.status != http.client.OK:
        raise DemoError(f"the token is not cancelled: {cancelled.status}")
    after = await system.ask_often((), f"&delegation={token}")
    return (
        _from_memory(f"{OWNER}'s delegation token", before),
        _refused("The token, once it is cancelled", after, http.client.FORBIDDEN),
    )


CHAPTERS: Final = (
    Chapter(
        "A ticket, and what comes of it",
        f"{PRIVATE} is {OWNER}'s, mode 700. She asks the proxy over HTTPS, with a Kerberos ticket. The NameNode checks "
        f"it, proves its own name to her, and sets a cookie. With that she asks {_ASKED} times.",
        _owner,
    ),
    Chapter(
        "Another user",
        f"{STRANGER} has a ticket as good as hers, and no right to pass the directory. What lies in it is in memory; "
        "he is not to know that.",
        _stranger,
    ),
    Chapter(
        "An impostor",
        f"A cookie of {OWNER}'s with a made-up signature, and {OWNER}'s name alone.",
        _impostor,
    ),
    Chapter(
        "A delegation token",
        f"{OWNER} gets a delegation token, as Spark and MapReduce do for their jobs. When the job is done she cancels "
        "it, through the proxy.",
        _token,
    ),
)
