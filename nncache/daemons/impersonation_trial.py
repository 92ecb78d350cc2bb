"""Say in the log if the NameNodes do not let this service act for its clients.

Beside the requests: the start does not wait for it, and does not fail by it.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, NoReturn

import aiohttp

from nncache.hadoop.doas_trial import Trial, try_doas
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_web import NameNodeWeb

_log = logging.getLogger(__name__)

TIMEOUT_S: Final = 10.0
"""For one question: the first one of a NameNode that has just started takes seconds."""

UNANSWERED_S: Final = 10.0
"""Until it is tried again where no NameNode has said anything."""

REFUSED_S: Final = 60.0
"""Until it is tried again where one has refused, so that the log also says when that is mended."""


class ImpersonationTrial:
    """Tries one `doas` until a NameNode has said that it lets this service act for others."""

    def __init__(self, identity: KerberosIdentity, addresses: Sequence[str], web: NameNodeWeb) -> None:
        """Try it as this identity at these NameNodes, host:port each."""
        self._identity = identity
        self._addresses = addresses
        self._web = web

    async def run(self) -> NoReturn:
        """Do it; the first answer of a NameNode counts, whichever that is: they share their rules."""
        is_refused = False
        while (trial := await self._tried()) is None or (trial.refusal and trial.is_proof):
            if trial is not None and not is_refused:
                is_refused = True
                _log.warning(
                    "nncache is not allowed to impersonate its clients: as %s it may not act for %s (%s), so that "
                    "calls of all clients are answered with 403: %s",
                    trial.name,
                    trial.user,
                    trial.refusal,
                    trial.to_do,
                )
            await asyncio.sleep(UNANSWERED_S if trial is None else REFUSED_S)
        if is_refused:
            _log.info("the NameNodes let %s act for its clients", trial.name)
        await asyncio.Event().wait()
        raise AssertionError

    async def _tried(self) -> Trial | None:
        login = WebLogin(self._identity, self._addresses, timeout_s=TIMEOUT_S)
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            middlewares=(login,),
        ) as session:
            for address in self._addresses:
                try:
                    trial = await try_doas(session, address, self._web)
                except (aiohttp.ClientError, OSError, KerberosError):  # others say so, with what follows
                    continue
                if trial is not None:
                    return trial
        return None
