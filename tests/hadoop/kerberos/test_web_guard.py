"""A web server that asks who is there, and one that believes anybody."""

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port

from nncache.hadoop.errors import JmxUnavailableError, KerberosError
from nncache.hadoop.kerberos.web_guard import see_guarded


async def asked(status: int) -> str:
    """Return which error a server with this answer gets; "" for none."""
    targets = []

    async def handle(request: web.Request) -> web.Response:
        targets.append(request.path_qs)
        return web.Response(status=status)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        try:
            await see_guarded(session, f"127.0.0.1:{server.port}")
        except KerberosError as error:
            return str(error)
        finally:
            assert targets == ["/webhdfs/v1/?op=GETHOMEDIRECTORY&user.name=nncache-probe"]
    return ""


async def test_only_a_401_shows_that_it_asks() -> None:
    """Anything else has come past the authentication, or says nothing about it."""
    assert await asked(401) == ""
    assert "hadoop.http.authentication.type=kerberos" in await asked(200)
    assert "answers 403" in await asked(403)
    assert "answers 307" in await asked(307)


async def test_no_reply_is_no_answer() -> None:
    """It is asked again with the next probe."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(JmxUnavailableError, match="cannot connect"):
            await see_guarded(session, f"127.0.0.1:{unused_port()}")
