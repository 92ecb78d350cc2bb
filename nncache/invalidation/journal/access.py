"""Accesses the JournalNodes of a journal, and checks that it belongs to the namespace of the NameNodes.

getJournaledEdits proves nothing: a JournalNode creates a missing journal in memory, which never has a transaction.
Source: GetJournalEditServlet of Hadoop 2.10.2 to 3.5.0, which compares the namespace before it searches a segment.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

import aiohttp
from yarl import URL

from nncache.hadoop.configured_namenodes import DEFAULT_NAMESERVICE, QuorumJournal
from nncache.hadoop.editlog.journalnode import JournalNodeRpc
from nncache.hadoop.errors import HadoopError, KerberosError, RemoteCallError, RpcAuthenticationError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.errors import ChannelUnavailableError, NotPermittedError, WrongNamespaceError
from nncache.invalidation.settings import EditsSettings
from nncache.net.answer_timeout import answer_timeout
from nncache.net.http_failure import why_unanswered

ANSWER_S: Final = 2.0
"""Timeout of a JournalNode's answer."""

_NO_SEGMENT: Final = 1 << 62
"""No segment begins with this transaction: the answer is 404, or 403 from a journal of another namespace."""

_CACHE_OFF: Final = "journal edits cache is not enabled"
_NOT_FORMATTED: Final = "JournalNotFormattedException"
_NOT_FOUND: Final = "No edit log found"
_OTHER_NAMESPACE: Final = "This node has namespaceId"
_UNAUTHORIZED: Final = "is not authorized for protocol"
_WHO_MAY: Final = (
    "on a secured cluster with hadoop.security.authorization a JournalNode serves the NameNodes' principal on this "
    "very host alone (dfs.namenode.kerberos.principal), and security.qjournal.service.protocol.acl"
)
_FIRST_BYTES: Final = 4096
"""Length of an error reply's beginning, which contains its message."""

_PIECE_BYTES: Final = 64 * 1024
"""Limit of one read of a segment's file: about 800 transactions."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalAccess:
    """A journal, and the identity that reads from its JournalNodes."""

    journal: QuorumJournal
    nameservice: str | None  # None: unknown
    user: str
    identity: KerberosIdentity | None = None
    web: NameNodeWeb = PLAIN  # the JournalNodes' web servers have the NameNodes' certificate authorities

    def rpc(self, address: str) -> JournalNodeRpc:
        """Return the RPC client of one JournalNode."""
        return JournalNodeRpc(
            address,
            self.journal.journal_id,
            self.user,
            nameservice=self.nameservice,
            timeout_s=ANSWER_S,
            identity=self.identity,
        )

    async def check_same_journal(self, web: str, storage: tuple[int, str]) -> None:
        """Check that the journal at this JournalNode's web server, a URL, belongs to the namespace of `storage`.

        `storage` is the id of the namespace and the id of its cluster, as a NameNode reports them.

        Raises:
            WrongNamespaceError: the journal belongs to another namespace.
            NotPermittedError: the JournalNode serves its edits only to NameNodes, and this service is not one of them.
            ChannelUnavailableError: the JournalNode does not answer the question.
        """
        async with self._get_journal(web, _NO_SEGMENT, storage) as reply:
            body = (await _in_time(reply.content.read(_FIRST_BYTES))).decode(errors="replace")
            if reply.status != HTTPStatus.NOT_FOUND or _NOT_FOUND not in body:
                raise ChannelUnavailableError(f"/getJournal at {reply.url.authority} answers {reply.status}")

    async def read_segment_file(
        self, web: str, first_txid: int, storage: tuple[int, str]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the file of the finalized segment that begins at this transaction, in pieces of bounded size.

        Raises as `check_same_journal`, and ChannelUnavailableError if the JournalNode does not send the whole file.
        """
        async with self._get_journal(web, first_txid, storage) as reply:
            if reply.status != HTTPStatus.OK:
                raise ChannelUnavailableError(
                    f"/getJournal at {reply.url.authority} answers {reply.status} for the segment from {first_txid} on"
                )
            while piece := await _in_time(reply.content.read(_PIECE_BYTES)):
                yield piece

    @asynccontextmanager
    async def _get_journal(
        self, web: str, first_txid: int, storage: tuple[int, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a reply of /getJournal that is no refusal of the caller or the namespace; translate errors."""
        namespace_id, cluster_id = storage
        url = URL(web) / "getJournal"
        query = {
            "jid": self.journal.journal_id,
            "segmentTxId": str(first_txid),
            "storageInfo": f"0:{namespace_id}:0:{cluster_id}",  # the layout and the creation time are not compared
            "inProgressOk": "false",
        }
        address = url.authority
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=aiohttp.ClientTimeout(total=None),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    middlewares=()
                    if self.identity is None
                    else (WebLogin(self.identity, (address,), timeout_s=ANSWER_S),),
                ) as session,
                await _in_time(session.get(url % query, allow_redirects=False, ssl=self.web.ssl)) as reply,
            ):
                if reply.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}:
                    body = (await _in_time(reply.content.read(_FIRST_BYTES))).decode(errors="replace")
                    raise _refused(self, address, storage, reply.status, body)
                yield reply
        except TimeoutError as exc:
            raise ChannelUnavailableError(f"{address}: no answer in {ANSWER_S:g} s") from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise ChannelUnavailableError(f"{address}: {why_unanswered(exc)}") from exc
        except KerberosError as exc:
            raise NotPermittedError(f"{address}: {exc}") from exc


def journal_access(
    settings: EditsSettings, namenodes: NameNodeSettings, identity: KerberosIdentity | None, web: NameNodeWeb
) -> JournalAccess | None:
    """Return the access to the configured JournalNodes; None if none are configured or known."""
    if settings.journal is None:
        return None
    return JournalAccess(
        journal=settings.journal,
        nameservice=None if namenodes.nameservice == DEFAULT_NAMESERVICE else namenodes.nameservice,
        user=namenodes.user,
        identity=identity,
        web=web,
    )


async def _in_time(answer: Awaitable[_T]) -> _T:
    """Wait for the next bytes of a JournalNode. Raises TimeoutError."""
    async with answer_timeout(ANSWER_S):
        return await answer


def _refused(
    access: JournalAccess, address: str, storage: tuple[int, str], status: int, body: str
) -> ChannelUnavailableError:
    if _OTHER_NAMESPACE in body:
        namespace_id, cluster_id = storage
        return WrongNamespaceError(
            f"journal {access.journal.journal_id} at {address} is of another namespace than the NameNodes serve "
            f"(id {namespace_id} of cluster {cluster_id}): see dfs.namenode.shared.edits.dir and shared_edits_dir"
        )
    return NotPermittedError(
        f"/getJournal at {address} answers {status} to this service: it wants a principal of a NameNode, or one "
        "whose short name is that of the JournalNode's own user (hadoop.security.auth_to_local)"
    )


async def why_unreadable(access: JournalAccess, address: str, storage: tuple[int, str]) -> str:
    """Return why a JournalNode cannot be read, and the remedy; "" if it can be read."""
    rpc = access.rpc(address)
    try:
        state = await rpc.state()
        await access.check_same_journal(state.web, storage)
        await rpc.edits(_NO_SEGMENT, 1)
    except (HadoopError, ChannelUnavailableError) as exc:
        return str(explained(exc))
    finally:
        await rpc.close()
    return ""


def unreadable(text: str, troubles: Sequence[Exception], nodes: int) -> ChannelUnavailableError:
    """Return the error of a journal with too few readable JournalNodes; its class is that of a majority's troubles."""
    whole = f"{text}: " + "; ".join(dict.fromkeys(map(str, troubles)))
    for kind in (WrongNamespaceError, NotPermittedError):
        if sum(isinstance(trouble, kind) for trouble in troubles) * 2 > nodes:
            return kind(whole)
    return ChannelUnavailableError(whole)


def explained(exc: Exception) -> Exception:
    """Translate an error about a JournalNode to this room's, with the remedy."""
    match exc:
        case RemoteCallError(verdict=Verdict.ACCESS_CONTROL):
            return NotPermittedError(f"{exc}; {_WHO_MAY}")
        case RpcAuthenticationError():
            return NotPermittedError(f"{exc}; {_WHO_MAY}" if _UNAUTHORIZED in str(exc) else str(exc))
        case RemoteCallError() if _CACHE_OFF in exc.remote.message:
            return ChannelUnavailableError(
                f"{exc.address}: set dfs.ha.tail-edits.in-progress to true in the JournalNode's hdfs-site.xml, and "
                "restart it"
            )
        case RemoteCallError() if exc.remote.exception == _NOT_FORMATTED:
            return ChannelUnavailableError(
                f"{exc.address} has no such journal: see dfs.namenode.shared.edits.dir and shared_edits_dir, or have "
                "the journal formatted (hdfs namenode -initializeSharedEdits)"
            )
        case HadoopError():
            return ChannelUnavailableError(str(exc))
    return exc
