"""Probe one JournalNode at both its addresses. All calls are reads."""

import asyncio
from collections.abc import Mapping

import aiohttp
from yarl import URL

from nncache.checks.facts import JournalNodeFound
from nncache.checks.namenode_probe import ANSWER_S, ask_conf
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.invalidation.journal.access import JournalAccess, why_unreadable


async def ask_journalnode(access: JournalAccess, address: str, storage: tuple[int, str]) -> JournalNodeFound:
    """Return whether it can be read, and its configuration; `storage` as for `JournalAccess.check_same_journal`."""
    trouble, (conf, silence) = await asyncio.gather(
        why_unreadable(access, address, storage), _conf(access, address)
    )
    return JournalNodeFound(trouble=trouble, conf=conf, conf_silence=silence)


async def _conf(access: JournalAccess, address: str) -> tuple[Mapping[str, str] | None, str]:
    """Return its configuration, or why it is unknown. RPC returns the address of the web server that shows it."""
    rpc = access.rpc(address)
    try:
        state = await rpc.state()
    except HadoopError as error:
        return None, str(error)
    finally:
        await rpc.close()
    web = URL(state.web).authority
    logins = () if access.identity is None else (WebLogin(access.identity, [web], timeout_s=ANSWER_S),)
    async with aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, middlewares=logins
    ) as session:
        return await ask_conf(session, state.web, access.user, access.web)
