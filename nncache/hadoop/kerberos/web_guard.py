"""Check that a secured NameNode's WebHDFS requires authentication.

Without `hadoop.http.authentication.type=kerberos`, which is not the default, a NameNode that requires Kerberos over RPC
starts without a warning, and accepts any `user.name` over HTTP (seen with Hadoop 3.4.1 and 3.5.0). Its answers then
prove no caller's rights, so they must not be cached.
"""

from http import HTTPStatus
from typing import Final

import aiohttp
from yarl import URL

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import JmxUnavailableError, KerberosError
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.net.http_failure import why_unanswered

ASKS_NOBODY: Final = (
    "believes any user.name, although the cluster is secured: set hadoop.http.authentication.type=kerberos in "
    "core-site.xml of the NameNode, with hadoop.http.authentication.kerberos.principal and .keytab, and restart it; "
    "until then nothing is answered from memory"
)

BROWSERS_FIELD: Final = "User-Agent"
"""Not sent: where browsers log in in another way, who sends it is one (AltKerberosAuthenticationHandler, 3.5.0)."""

_ANYBODY: Final = "nncache-probe"
"""A user name that only a server without authentication accepts."""


async def check_guarded(session: aiohttp.ClientSession, address: str, web: NameNodeWeb = PLAIN) -> None:
    """Return if WebHDFS at host:port refuses a caller with only a name, and accepts our credentials.

    The session logs in (`web_login.py`), so the server also proves its identity, even if its /jmx is open.

    Raises:
        KerberosError: It accepts the name; the message has the key to set. Or its reply is another one, or no proof.
        JmxUnavailableError: It does not reply.
        TimeoutError: It does not reply within the session's timeout.
    """
    url = URL(f"{web.url(address)}{PREFIX}/?op=GETHOMEDIRECTORY&user.name={_ANYBODY}", encoded=True)
    is_left_out = False
    try:
        async with session.get(
            url, allow_redirects=False, middlewares=(), skip_auto_headers=(BROWSERS_FIELD,), ssl=web.ssl
        ) as reply:
            status, reason = reply.status, reply.reason
        if status == HTTPStatus.UNAUTHORIZED:
            async with session.get(url, allow_redirects=False, ssl=web.ssl) as reply:
                is_left_out = reply.status == HTTPStatus.UNAUTHORIZED
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError) as exc:
        raise JmxUnavailableError(f"WebHDFS at {address}: {why_unanswered(exc)}") from exc
    if status == HTTPStatus.OK:
        raise KerberosError(f"WebHDFS at {address} {ASKS_NOBODY}")
    if status != HTTPStatus.UNAUTHORIZED:
        raise KerberosError(
            f"WebHDFS at {address} answers {status} {reason} to one who only gives a name, where a secured NameNode "
            "answers 401"
        )
    if is_left_out:
        raise KerberosError(
            f"WebHDFS at {address} answers 401 without asking for Negotiate: set "
            "hadoop.http.authentication.type=kerberos in core-site.xml of the NameNode"
        )
