"""Probe one NameNode at both its addresses.

All calls are reads: of beans, of the configuration, of the root directory's status, of edits.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from nncache.checks.facts import NameNodeFound, RootStatus
from nncache.hadoop import conf_page
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.doas_trial import Trial, try_doas
from nncache.hadoop.election_view import HaState, NameNode, ProbeReply
from nncache.hadoop.errors import HadoopError, KerberosError, OtherServerError, RemoteCallError
from nncache.hadoop.jmx import (
    STARTED_QUERY,
)
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.jmx_client import JmxClient
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.paths import ROOT
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.net.http_failure import why_unanswered

ANSWER_S: Final = 2.5
"""Timeout of each request."""

READ_S: Final = 4.5
"""Timeout of a read: the first one takes seconds after a NameNode's start."""

_MOST_BYTES: Final = 4 * 1024 * 1024  # of /conf; its defaults alone are 200 kB


@dataclass(frozen=True, slots=True)
class _Got:
    """An answer over HTTP, or why there is none (status 0)."""

    status: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    why: str = ""
    is_slow: bool = False


async def ask_over_http(
    namenode: NameNode,
    user: str,
    clock: Callable[[], float],
    identity: KerberosIdentity | None = None,
    web: NameNodeWeb = PLAIN,
    *,
    acts_for_others: bool = False,
) -> NameNodeFound:
    """Return the NameNode's answers over HTTP to this user, or to this identity."""
    timeout = aiohttp.ClientTimeout(total=ANSWER_S)
    logins = () if identity is None else (WebLogin(identity, [namenode.http], timeout_s=ANSWER_S),)
    async with aiohttp.ClientSession(
        timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, middlewares=logins
    ) as session:
        wants_guard = identity is not None and not identity.may_fall_back
        jmx = JmxClient(session, clock, timeout_s=ANSWER_S, user=user, wants_guard=wants_guard, web=web)
        who = f"user.name={quote(user, safe='')}"
        base = web.url(namenode.http)
        (answer, silence), anonymous, named, conf, status, trial = await asyncio.gather(
            _ask_jmx(jmx, namenode),
            _get(session, base + STARTED_QUERY, web, logs_in=False, within_s=ANSWER_S),
            _get(session, f"{base}{STARTED_QUERY}&{who}", web, logs_in=False, within_s=ANSWER_S),
            _get_conf(session, base, user, web),
            read_status(session, namenode.http, user, web),
            _trial(session, namenode, web, is_wanted=acts_for_others),
        )
    properties, conf_silence = _properties(conf)
    return NameNodeFound(
        answer=answer,
        silence=silence,
        named_status=named.status,
        anonymous_status=anonymous.status,
        challenge=named.fields.get("WWW-Authenticate", "") or named.fields.get("Location", ""),
        clock_ahead_s=next(filter(lambda each: each is not None, map(_clock_ahead_s, (named, conf))), None),
        conf=properties,
        conf_silence=conf_silence,
        read=status,
        trial=trial,
    )


async def ask_conf(
    session: aiohttp.ClientSession, base: str, user: str, web: NameNodeWeb
) -> tuple[Mapping[str, str] | None, str]:
    """Return the effective configuration that the web server at this URL shows, or why it is unknown."""
    return _properties(await _get_conf(session, base, user, web))


async def _get_conf(session: aiohttp.ClientSession, base: str, user: str, web: NameNodeWeb) -> _Got:
    url = f"{base}{conf_page.TARGET}&user.name={quote(user, safe='')}"
    return await _get(session, url, web, within_s=ANSWER_S)


async def _trial(
    session: aiohttp.ClientSession, namenode: NameNode, web: NameNodeWeb, *, is_wanted: bool
) -> Trial | None:
    with suppress(aiohttp.ClientError, OSError, KerberosError):
        return await try_doas(session, namenode.http, web) if is_wanted else None
    return None


async def read_status(
    session: aiohttp.ClientSession,
    address: str,
    user: str,
    web: NameNodeWeb = PLAIN,
    path: str = ROOT,
    authorization: str = "",
) -> RootStatus:
    """Read the status of a directory, bypassing caches on the way.

    `authorization` is the value of the Authorization field, if the session does not log in by itself.
    """
    url = f"{web.url(address)}{PREFIX}{quote(path)}?op=GETFILESTATUS&user.name={quote(user, safe='')}"
    fields = {"Cache-Control": "no-store"} | ({"Authorization": authorization} if authorization else {})
    got = await _get(session, url, web, fields, within_s=READ_S)
    says = got.why
    if got.status and got.status != HTTPStatus.OK:
        remote = parse_remote_exception(got.body)
        says = f"{remote.exception}: {remote.message.partition(chr(10))[0]}" if remote else ""
    return RootStatus(
        status=got.status,
        says=says,
        cache_status=got.fields.get("Cache-Status", ""),
        is_slow=got.is_slow,
    )


async def ask_over_rpc(
    namenode: NameNode, user: str, identity: KerberosIdentity | None = None, *, reads_edits: bool
) -> NameNodeFound:
    """Return the NameNode's answers over RPC to this user, or to this identity."""
    found = NameNodeFound()
    rpc = NameNodeRpc(namenode.rpc, user, timeout_s=ANSWER_S, identity=identity)
    try:
        namespace, state = await _identity(rpc)
        found = replace(found, rpc_namespace=namespace, rpc_state=state)
        if identity is None:  # otherwise the NameNode's name for the identity is unknown
            with suppress(RemoteCallError):  # security.get.user.mappings.protocol.acl
                found = replace(found, groups=await rpc.groups_of(user))
        if reads_edits and state is HaState.ACTIVE:
            found = await _edits(rpc, found)
    except (HadoopError, OSError) as error:
        return replace(found, rpc_silence=str(error), is_another=isinstance(error, OtherServerError))
    finally:
        await rpc.close()
    return found


async def _identity(rpc: NameNodeRpc) -> tuple[Namespace, HaState]:
    namespace = await rpc.namespace()
    try:
        await rpc.exists("/")
    except RemoteCallError as error:
        if error.verdict is not Verdict.STANDBY:
            raise
        return namespace, HaState.STANDBY
    return namespace, HaState.ACTIVE


async def _edits(rpc: NameNodeRpc, found: NameNodeFound) -> NameNodeFound:
    """Read the page of edits that begins with the last transaction."""
    try:
        txid = await rpc.get_current_edit_log_txid()
        await rpc.get_edits(txid)
    except RemoteCallError as error:
        is_refused = error.verdict is Verdict.ACCESS_CONTROL
        says = f"{error.remote.exception}: {error.remote.message.partition(chr(10))[0]}"
        return replace(found, edits_refusal=says, is_refused=is_refused)
    return replace(found, edits_txid=txid)


async def _ask_jmx(jmx: JmxClient, namenode: NameNode) -> tuple[ProbeReply | None, str]:
    try:
        return await jmx.ask(namenode), ""
    except HadoopError as error:
        return None, str(error)


async def _get(
    session: aiohttp.ClientSession,
    url: str,
    web: NameNodeWeb,
    headers: Mapping[str, str] | None = None,
    *,
    logs_in: bool = True,
    within_s: float,
) -> _Got:
    try:
        async with session.get(
            URL(url, encoded=True),
            allow_redirects=False,
            ssl=web.ssl,
            timeout=aiohttp.ClientTimeout(total=within_s),
            middlewares=None if logs_in else (),
            headers={"Accept": "application/json"} | dict(headers or {}),
        ) as reply:
            body = bytearray()
            async for chunk in reply.content.iter_any():
                body += chunk
                if len(body) > _MOST_BYTES:
                    break
            return _Got(reply.status, reply.headers, bytes(body))
    except TimeoutError:
        return _Got(why=f"no answer in {within_s:g} s", is_slow=True)
    except (aiohttp.ClientError, OSError) as error:
        return _Got(why=why_unanswered(error))
    except KerberosError as error:
        return _Got(why=str(error))


def _properties(got: _Got) -> tuple[Mapping[str, str] | None, str]:
    """Return the effective configuration, or why it is unknown."""
    if got.status != HTTPStatus.OK:
        return None, f"/conf answers {got.status}" if got.status else f"/conf: {got.why}"
    properties = conf_page.parse_conf(got.body)
    return properties, "" if properties is not None else "/conf answers no configuration"


def _clock_ahead_s(got: _Got) -> float | None:
    try:
        theirs = parsedate_to_datetime(got.fields["Date"])
    except (KeyError, ValueError, TypeError):
        return None
    return (theirs - datetime.now(UTC)).total_seconds()
