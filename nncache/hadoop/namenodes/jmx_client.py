"""Ask one NameNode over JMX for its HA state and the position of its edit log.

Requests carry the name of the service's user, which any NameNode with simple authentication accepts. Without a name it
answers 401 if `hadoop.http.authentication.simple.anonymous.allowed` is false. `nncache.hadoop.jmx` parses the replies.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

import aiohttp
from yarl import URL

from nncache.hadoop.election_view import Journal, NameNode, ProbeReply
from nncache.hadoop.errors import HadoopError, JmxUnavailableError, MalformedReplyError, TlsError
from nncache.hadoop.jmx import (
    BLOCK_POOL_QUERY,
    CLUSTER_QUERY,
    JOURNAL_QUERY,
    STARTED_QUERY,
    STATUS_QUERY,
    parse_block_pool,
    parse_cluster_id,
    parse_last_txid,
    parse_started_ms,
    parse_status,
)
from nncache.hadoop.kerberos.web_guard import check_guarded
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.server_kind import HttpReply, ServerKind, kind_of_reply
from nncache.net.answer_timeout import AnswerTimeout, answer_timeout
from nncache.net.http_failure import tls_error_of, why_unanswered

MAX_REPLY_BYTES = 1024 * 1024

_WHAT_TO_DO: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: (
        "its web server wants Kerberos, or another authentication: give this service an identity with --principal and "
        "--keytab"
    ),
    HTTPStatus.NOT_FOUND: "it is an HTTP server, and no NameNode's: is it the right port in namenode_http?",
    HTTPStatus.FORBIDDEN: (
        "name a user with --user who may see it (dfs.cluster.administrators, where "
        "hadoop.security.instrumentation.requires.admin is set)"
    ),
}

_WHO_ELSE: dict[ServerKind, str] = {
    ServerKind.HADOOP_RPC: (
        "name the HTTP address in namenode_http; are namenode_http and namenode_rpc the wrong way round?"
    ),
    ServerKind.PROXY: "name the NameNode itself in namenode_http, not a proxy in front of it",
}

_FIRST_BYTES = 4096
"""The part of an unexpected reply that is read: enough to recognise the kind of server."""

_log = logging.getLogger(__name__)


class JmxClient:
    """Any number of NameNodes, over the connections of one HTTP session."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        clock: Callable[[], float],
        *,
        timeout_s: float,
        user: str,
        wants_guard: bool = False,
        web: NameNodeWeb = PLAIN,
    ) -> None:
        """Use this session, and the scheme and TLS context of `web`.

        With `wants_guard`, only NameNodes that require authentication are trusted (`web_guard.py`).
        """
        self._session = session
        self._clock = clock
        self._user = user
        self._as_user = f"&user.name={quote(user, safe='')}"
        self._timeout_s = timeout_s  # for all the requests of one probe
        self._wants_guard = wants_guard
        self._web = web
        self._guarded: dict[NameNode, int] = {}  # the start times of processes that require authentication
        self._namespaces: dict[
            NameNode, tuple[int, Namespace]
        ] = {}  # the start time of each process, and its namespace

    async def ask(self, namenode: NameNode) -> ProbeReply:
        """Ask for the start time of its process, its HA state, the position of its log, and the start time again.

        An equal start time before and after proves that one process gave all the answers. The order proves that the
        log had reached this position while the NameNode was in this state. If it returns its state but not the
        position of its log, the result has no journal.

        Raises:
            JmxUnavailableError: No answer in time; a TlsError if TLS fails.
            MalformedReplyError: The answer cannot be trusted, or it comes from two processes.
            KerberosError: Kerberos is in use, and there is no ticket for it, or it accepts any client.
        """
        try:
            async with answer_timeout(self._timeout_s) as deadline:
                started_ms = await self._ask_started(namenode)
                if self._wants_guard and self._guarded.get(namenode) != started_ms:
                    await check_guarded(self._session, namenode.http, self._web)
                    self._guarded[namenode] = started_ms
                state, transition_ms = parse_status(await self._get(namenode, STATUS_QUERY))
        except TimeoutError as exc:
            raise self._is_silent(namenode) from exc
        answer = ProbeReply(
            state=state,
            started_ms=started_ms,
            transition_ms=transition_ms,
            namespace=self._known_namespace(namenode, started_ms),
        )
        try:
            async with AnswerTimeout(deadline.due):
                journal = await self._ask_journal(namenode)
                namespace = answer.namespace or await self._ask_namespace(namenode)
                started_again_ms = await self._ask_started(namenode)
        except (TimeoutError, HadoopError) as error:
            _log.debug("cannot read the last transaction id of %s: %s", namenode.http, error)
            return answer
        if started_again_ms != started_ms:
            raise MalformedReplyError(f"{namenode.http} was restarted between two questions")
        if namespace is not None:
            self._namespaces[namenode] = started_ms, namespace
        return replace(answer, namespace=namespace, journal=journal)

    def _known_namespace(self, namenode: NameNode, started_ms: int) -> Namespace | None:
        """Return the namespace that this very process has named before; it cannot change."""
        known_start_ms, namespace = self._namespaces.get(namenode, (None, None))
        return namespace if known_start_ms == started_ms else None

    async def _ask_started(self, namenode: NameNode) -> int:
        return parse_started_ms(await self._get(namenode, STARTED_QUERY))

    async def _ask_journal(self, namenode: NameNode) -> Journal | None:
        asked_at = self._clock()
        body = await self._get(namenode, JOURNAL_QUERY)
        try:
            return Journal(last_txid=parse_last_txid(body), asked_at=asked_at)
        except MalformedReplyError as error:  # perhaps of another release
            _log.debug("cannot read the last transaction id of %s: %s", namenode.http, error)
            return None

    async def _ask_namespace(self, namenode: NameNode) -> Namespace | None:
        try:
            cluster_id = parse_cluster_id(await self._get(namenode, CLUSTER_QUERY))
            return Namespace(cluster_id, parse_block_pool(await self._get(namenode, BLOCK_POOL_QUERY)))
        except MalformedReplyError as error:
            _log.debug("cannot read the namespace of %s: %s", namenode.http, error)
            return None

    async def _get(self, namenode: NameNode, query: str) -> bytes:
        url = URL(f"{self._web.url(namenode.http)}{query}{self._as_user}", encoded=True)
        try:
            async with self._session.get(url, allow_redirects=False, ssl=self._web.ssl) as reply:
                if reply.status != HTTPStatus.OK:
                    raise await self._refused(namenode, reply)
                body = bytearray()
                async for chunk in reply.content.iter_any():
                    body += chunk
                    if len(body) > MAX_REPLY_BYTES:
                        raise MalformedReplyError(f"JMX of {namenode.http} answers too much")
                return bytes(body)
        except TimeoutError as exc:
            raise self._is_silent(namenode) from exc
        except (aiohttp.ClientError, OSError) as exc:
            kind = JmxUnavailableError if tls_error_of(exc) is None else TlsError
            raise kind(f"JMX of {namenode.http}: {why_unanswered(exc)}") from exc

    async def _refused(self, namenode: NameNode, reply: aiohttp.ClientResponse) -> MalformedReplyError:
        """Return the error for a reply with a status other than 200."""
        fields = {name.lower(): value for name, value in reply.headers.items()}
        body = await reply.content.read(_FIRST_BYTES)
        kind = kind_of_reply(HttpReply(reply.status, fields, body))
        if kind in _WHO_ELSE:
            return MalformedReplyError(f"{namenode.http} {kind.value}: {_WHO_ELSE[kind]}")
        advice = _WHAT_TO_DO.get(reply.status, "")
        says = f"/jmx of {namenode.http} answers {reply.status} to user {self._user}"
        return MalformedReplyError(f"{says}: {advice}" if advice else says)

    def _is_silent(self, namenode: NameNode) -> JmxUnavailableError:
        return JmxUnavailableError(f"JMX of {namenode.http}: no answer in {self._timeout_s:g} s")
