"""Ask one NameNode over JMX what it is and how far its log has come. (hadoop/jmx_client.py)

As nobody in particular. `hadoop.jmx` reads the replies.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus

import aiohttp
from yarl import URL

from hadoop.election_view import Answer, Journal, NameNode
from hadoop.errors import HadoopError, JmxUnavailableError, MalformedReplyError
from hadoop.jmx import (
    BLOCK_POOL_QUERY,
    JOURNAL_QUERY,
    STARTED_QUERY,
    STATUS_QUERY,
    parse_block_pool,
    parse_last_txid,
    parse_started_ms,
    parse_status,
)

MAX_REPLY_BYTES = 1024 * 1024

_log = logging.getLogger(__name__)


class JmxClient:
    """Any number of NameNodes, over the connections of one HTTP session."""

    def __init__(
        self, session: aiohttp.ClientSession, clock: Callable[[], float], *, timeout_s: float
    ) -> None:
        self._session = session
        self._clock = clock
        self._timeout_s = timeout_s  # for all the questions that make one answer
        self._block_pools: dict[
            NameNode, tuple[int, str]
        ] = {}  # what each said, in which life of its process

    async def ask(self, namenode: NameNode) -> Answer:
        """Ask when its process started, what it is, how far its log has come, and when it started again.

        Only the same start before and after shows that one process said all this, and only the order shows that
        the log had come so far when it was what it says it is. A NameNode that says what it is but not how far
        its log has come gives an answer all the same, without a journal.

        Raises:
            JmxUnavailableError: No answer in time.
            MalformedReplyError: Not an answer to be trusted, or two processes gave parts of it.
        """
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                started_ms = await self._ask_started(namenode)
                status = parse_status(await self._get(namenode, STATUS_QUERY))
        except TimeoutError as exc:
            raise self._is_silent(namenode) from exc
        answer = status.answer(started_ms, self._known_block_pool(namenode, started_ms))
        try:
            async with asyncio.timeout_at(deadline.when()):
                journal = await self._ask_journal(namenode)
                block_pool = answer.block_pool or await self._ask_block_pool(namenode)
                started_again_ms = await self._ask_started(namenode)
        except (TimeoutError, HadoopError) as error:
            _log.debug("%s does not say how far its log has come: %s", namenode.http, error)
            return answer
        if started_again_ms != started_ms:
            raise MalformedReplyError(f"{namenode.http} was restarted between two questions")
        if block_pool:
            self._block_pools[namenode] = started_ms, block_pool
        return replace(answer, block_pool=block_pool, journal=journal)

    def _known_block_pool(self, namenode: NameNode, started_ms: int) -> str:
        """Return what this very process has said before; it cannot change its mind."""
        said_in, block_pool = self._block_pools.get(namenode, (None, ""))
        return block_pool if said_in == started_ms else ""

    async def _ask_started(self, namenode: NameNode) -> int:
        return parse_started_ms(await self._get(namenode, STARTED_QUERY))

    async def _ask_journal(self, namenode: NameNode) -> Journal | None:
        asked_at = self._clock()
        body = await self._get(namenode, JOURNAL_QUERY)
        try:
            return Journal(last_txid=parse_last_txid(body), asked_at=asked_at)
        except MalformedReplyError as error:  # of another release, perhaps
            _log.debug("%s does not say how far its log has come: %s", namenode.http, error)
            return None

    async def _ask_block_pool(self, namenode: NameNode) -> str:
        try:
            return parse_block_pool(await self._get(namenode, BLOCK_POOL_QUERY))
        except MalformedReplyError as error:
            _log.debug("%s does not say which namespace it serves: %s", namenode.http, error)
            return ""

    async def _get(self, namenode: NameNode, query: str) -> bytes:
        url = URL(f"http://{namenode.http}{query}", encoded=True)
        try:
            async with self._session.get(url, allow_redirects=False) as reply:
                if reply.status != HTTPStatus.OK:
                    raise MalformedReplyError(f"JMX of {namenode.http} answers {reply.status}")
                body = bytearray()
                async for chunk in reply.content.iter_any():
                    body += chunk
                    if len(body) > MAX_REPLY_BYTES:
                        raise MalformedReplyError(f"JMX of {namenode.http} answers too much")
                return bytes(body)
        except (aiohttp.ClientError, OSError) as exc:
            raise JmxUnavailableError(f"JMX of {namenode.http}: {exc}") from exc

    def _is_silent(self, namenode: NameNode) -> JmxUnavailableError:
        return JmxUnavailableError(f"JMX of {namenode.http}: no answer in {self._timeout_s:g} s")
