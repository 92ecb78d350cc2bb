"""The story of `make demo SECURE=1`: on a cluster with Kerberos, a caller's ticket decides the answers."""

import asyncio
import base64
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import FORBIDDEN, OK, UNAUTHORIZED
from pathlib import Path
from typing import Final, NamedTuple

from nncache.demo.clients import OWNER, DemoError
from nncache.demo.terminal import Chapter, Step, Story, Terminal, typed
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import gss
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.testbed import Cluster, ClusterSpec, Kdc, Kerberos
from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.kdc import PROGRAMS, keytab
from nncache.testbed.ports import PortLease
from nncache.testbed.programs import find_programs
from nncache.testbed.secured import SERVICE, SERVICE_KEYTAB
from nncache.testbed.spec import HOST_NAME, REALM

STRANGER: Final = "bob"
PRIVATE: Final = f"/user/{OWNER}/private"
"""The directory of all files of the story; only its owner may enter it."""
SECRET: Final = f"{PRIVATE}/salaries"

_TIMEOUT_S: Final = 30.0
_ASKED: Final = 20
_FORWARDED_AT_MOST: Final = 5
"""Reads with a new credential that the NameNode may answer: the first one for each directory of the path."""

_REFUSED: Final = 5

Fields = Sequence[tuple[str, str]]


class System(NamedTuple):
    """The running system, the proxy's TLS address, and the certificate authority that clients trust."""

    cluster: Cluster
    kdc: Kdc
    proxy: ProxyDaemon
    address: str
    authority: Authority

    def ask(
        self, path: str, op: str = "GETFILESTATUS", fields: Fields = (), query: str = "", method: str = "GET"
    ) -> RawReply:
        """Send one request to the proxy, over TLS, on a new connection."""
        with Asker(self.address, self.authority.client_context()) as asker:
            return asker.ask(method, f"{PREFIX}{path}?op={op}{query}", headers=fields)

    def ask_often(self, fields: Fields, query: str = "", times: int = _REFUSED) -> list[RawReply]:
        """Request the owner's secret repeatedly, and return the answers."""
        return [self.ask(SECRET, fields=fields, query=query) for _ in range(times)]

    def log_in(self, user: str, path: str) -> tuple[RawReply, str]:
        """Request a path with a user's ticket; return the answer, and the error in the server's token, if any."""
        identity = identity_of(KerberosSettings(ticket_cache=f"FILE:{self.kdc.kinit(user)}"), time.monotonic)
        assert identity is not None

        async def negotiate() -> tuple[RawReply, str]:
            negotiation = await identity.negotiation(HOST_NAME, _TIMEOUT_S)
            answer = self.ask(path, fields=(("Authorization", negotiation.field),))
            try:
                await negotiation.check_proven([v for k, v in answer.headers if k == "WWW-Authenticate"])
            except KerberosError as error:
                return answer, str(error)
            return answer, ""

        return asyncio.run(negotiate())

    def cookie(self, user: str) -> Fields:
        """Return the header field with the cookie that the proxy returns for this user's ticket."""
        answer, trouble = self.log_in(user, "/")
        if not answer.header("Set-Cookie") or trouble:
            raise DemoError(f"{user} gets no cookie: {answer.status} {trouble}")
        return _cookie_of(answer)

    def make_private(self) -> None:
        """Create the owner's private files at the NameNode, as HDFS's superuser."""
        namenode, superuser = self.cluster.namenodes[0], self.cluster.superuser
        for path, change in (
            (SECRET, "MKDIRS"),
            (f"/user/{OWNER}", f"SETOWNER&owner={OWNER}"),
            (PRIVATE, f"SETOWNER&owner={OWNER}"),
            (PRIVATE, "SETPERMISSION&permission=700"),
        ):
            _check(namenode.ask("PUT", f"{PREFIX}{path}?op={change}", superuser), change)


def _check(reply: RawReply, call: str) -> None:
    if reply.status != OK:
        raise DemoError(f"{call} failed: {reply.status} {reply.body.decode(errors='replace')}")


def _cookie_of(answer: RawReply) -> Fields:
    return (("Cookie", answer.header("Set-Cookie").partition(";")[0]),)


@contextmanager
def running(hadoop_version: str, terminal: Terminal) -> Iterator[Story]:
    """Start the system, yield its story, and stop the system when the context ends, also on an error.

    This process and its children become clients of the cluster's KDC.

    Raises:
        TestbedError, DemoError: a program is missing (the text names its packages) or does not start; none is running.
    """
    find_programs(*PROGRAMS)
    try:
        gss.check_installed()
    except KerberosError as error:
        raise DemoError(f"{error}; then remove .venv/.secured and run make demo SECURE=1 again") from error
    with ExitStack() as stack:
        with terminal.working("A real KDC and a real HDFS that asks for Kerberos, on this machine") as say:
            spec = ClusterSpec(hadoop_version=hadoop_version, kerberos=Kerberos(), with_datanode=False)
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        kdc = cluster.kdc
        assert kdc is not None
        for name in ("KRB5CCNAME", "KRB5_KTNAME"):
            os.environ.pop(name, None)
        os.environ.update(kdc.environ())
        authority = Authority(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nncache-demo-"))))
        issued, key = authority.issue("proxy"), keytab(kdc.directory, SERVICE_KEYTAB)
        address = f"{HOST_NAME}:{stack.enter_context(PortLease()).take()}"
        proxy = ProxyDaemon(
            *cluster.flags,
            *("--principal", f"{SERVICE}@{REALM}", "--keytab", str(key)),
            *("--namenode-principal", f"nn/_HOST@{REALM}", "--glob", f"{PRIVATE}/*"),
            *("--tls-listen", address, "--tls-certificate", str(issued.chain), "--tls-key", str(issued.key)),
        )
        what = "The proxy: a principal of its own, and TLS for its clients"
        terminal.start(stack, what, proxy, proxy.await_gate)
        system = System(cluster, kdc, proxy, address, authority)
        yield Story(chapters(system), hints(system), proxy)


def hints(system: System) -> tuple[tuple[str, str], ...]:
    """Return suggestions for the running system: a purpose, and a line to copy."""
    environ = " ".join(f"{name}={value}" for name, value in system.kdc.environ().items())
    own = keytab(system.kdc.directory, OWNER)
    url = f"https://{system.address}{PREFIX}{SECRET}?op=GETFILESTATUS"
    asking = f"curl --cacert {system.authority.ca} -i '{url}'"
    return (
        ("Be a client of this KDC:", f"export {environ}"),
        (f"Be {OWNER} (or {STRANGER}: the keytab beside it):", f"kinit -kt {own} {OWNER}"),
        ("Ask with the ticket, and keep the cookie:", f"{asking} --negotiate -u : -c jar"),
        ("Ask with the cookie alone; look at Cache-Status:", f"{asking} -b jar"),
        ("What the proxy knows of it, and why:", typed("explain", SECRET, "--admin", system.proxy.admin)),
        ("The proxy's own pages, for a browser:", f"http://{system.proxy.admin}/"),
    )


def _seen(answers: Sequence[RawReply]) -> str:
    """Return "20 x 200; 19 hits"."""
    statuses = Counter(each.status for each in answers)
    return f"{', '.join(f'{n} x {s}' for s, n in statuses.items())}; {sum(a.is_hit for a in answers)} hits"


def _from_memory(title: str, answers: Sequence[RawReply]) -> Step:
    """Judge reads with a credential that the NameNode accepts; the NameNode itself may answer the first few."""
    least = len(answers) - _FORWARDED_AT_MOST
    right = all(each.status == OK and each.body == answers[0].body for each in answers)
    expected = f"200 each time, at least {least} of {len(answers)} from memory"
    return Step(title, expected, _seen(answers), right and sum(each.is_hit for each in answers) >= least)


def _refused(title: str, answers: Sequence[RawReply], status: int, words: bytes = b"") -> Step:
    """Judge reads that the NameNode must refuse each time, with these words."""
    right = all(
        each.status == status and not each.is_hit and words in each.body and b"FileStatus" not in each.body
        for each in answers
    )
    return Step(title, f"{status} each time {words.decode()}; nothing from memory", _seen(answers), right)


def _owner(system: System) -> tuple[Step, ...]:
    system.make_private()
    answer, trouble = system.log_in(OWNER, SECRET)
    has_cookie = f"u={OWNER}&" in answer.header("Set-Cookie")
    logged_in = Step(
        f"{OWNER}'s ticket",
        f"200 by the NameNode, with a cookie of {OWNER}'s, and it proves that it is HTTP/localhost",
        f"{_seen([answer])}, {'a' if has_cookie else 'no'} cookie of {OWNER}'s, {trouble or 'name proven'}",
        answer.status == OK and has_cookie and not answer.is_hit and not trouble,
    )
    answers = system.ask_often(_cookie_of(answer), times=_ASKED)
    return logged_in, _from_memory(f"{OWNER}'s cookie", answers)


def _stranger(system: System) -> tuple[Step, ...]:
    answer, _ = system.log_in(STRANGER, SECRET)
    answers, words = system.ask_often(system.cookie(STRANGER)), b"Permission denied: user="
    return (
        _refused(f"{STRANGER}'s ticket", [answer], FORBIDDEN, words),
        _refused(f"{STRANGER}'s cookie", answers, FORBIDDEN, words),
    )


def _impostor(system: System) -> tuple[Step, ...]:
    signature = base64.b64encode(bytes(32)).decode()
    forged = f'hadoop.auth="u={OWNER}&p={OWNER}@{REALM}&t=kerberos&e=9999999999999&s={signature}"'
    named = system.ask_often((), f"&user.name={OWNER}")
    return (
        _refused("A forged cookie", system.ask_often((("Cookie", forged),)), UNAUTHORIZED),
        _refused(f"user.name={OWNER}", named, UNAUTHORIZED),
    )


def _token(system: System) -> tuple[Step, ...]:
    cookie = system.cookie(OWNER)
    given = system.ask("/", "GETDELEGATIONTOKEN", cookie, f"&renewer={OWNER}")
    _check(given, "GETDELEGATIONTOKEN")
    token = json.loads(given.body)["Token"]["urlString"]
    before = system.ask_often((), f"&delegation={token}", _ASKED)
    _check(
        system.ask("/", "CANCELDELEGATIONTOKEN", cookie, f"&token={token}", "PUT"), "CANCELDELEGATIONTOKEN"
    )
    after = system.ask_often((), f"&delegation={token}")
    return (
        _from_memory(f"{OWNER}'s delegation token", before),
        _refused("The token, once it is cancelled", after, FORBIDDEN),
    )


def chapters(system: System) -> tuple[Chapter, ...]:
    """Return the chapters of the story."""
    return (
        Chapter(
            "A ticket and a cookie",
            f"{PRIVATE} is {OWNER}'s, mode 700. She asks the proxy over HTTPS, with a Kerberos ticket. The NameNode "
            f"checks it, proves its own name to her, and sets a cookie. With that she asks {_ASKED} times.",
            partial(_owner, system),
        ),
        Chapter(
            "Another user",
            f"{STRANGER} has a ticket as good as hers, and no right to enter the directory. What is in it is in "
            "memory; he must not learn that.",
            partial(_stranger, system),
        ),
        Chapter(
            "An impostor",
            f"A cookie of {OWNER}'s with a made-up signature, and {OWNER}'s name alone.",
            partial(_impostor, system),
        ),
        Chapter(
            "A delegation token",
            f"{OWNER} gets a delegation token, as Spark and MapReduce do for their jobs. When the job is done she "
            "cancels it, through the proxy.",
            partial(_token, system),
        ),
    )
