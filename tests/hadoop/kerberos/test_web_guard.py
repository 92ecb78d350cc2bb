"""A web server that asks who is there, and one that believes anybody."""

import aiohttp
import pytest
from aiohttp import web
from aiohttp.client_middlewares import ClientHandlerType
from aiohttp.test_utils import TestServer, unused_port

from nncache.hadoop.errors import JmxUnavailableError, KerberosError
from nncache.hadoop.kerberos.web_guard import see_guarded

QUESTION = "/webhdfs/v1/?op=GETHOMEDIRECTORY&user.name=nncache-probe"


async def log_in(request: aiohttp.ClientRequest, handler: ClientHandlerType) -> aiohttp.ClientResponse:
    """Stand for `WebLogin`."""
    request.headers["Authorization"] = "Negotiate token"
    return await handler(request)


async def asked(status: int, then: int = 200) -> str:
    """Return which error a server with these answers gets, the second to a login; "" for none."""
    asked = []

    async def handle(request: web.Request) -> web.Response:
        asked.append((request.path_qs, request.headers.get("Authorization")))
        return web.Response(status=status if asked[-1][1] is None else then)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    async with TestServer(app) as server, aiohttp.ClientSession(middlewares=(log_in,)) as session:
        try:
            await see_guarded(session, f"127.0.0.1:{server.port}")
        except KerberosError as error:
            return str(error)
        finally:
            logins = [(QUESTION, "Negotiate token")] if status == 401 else []
            assert asked == [(QUESTION, None), *logins]
    return ""


async def test_only_a_401_shows_that_it_asks() -> None:
    """Anything else has come past the authentication, or says nothing about it."""
    assert await asked(401) == ""
    assert await asked(401, then=403) == ""
    assert "hadoop.http.authentication.type=kerberos" in await asked(200)
    assert "answers 403" in await asked(403)
    assert "answers 307" in await asked(307)


async def test_who_logs_in_is_let_in() -> None:
    """What asks for something else than Kerberos proves no name."""
    assert "without asking for Negotiate" in await asked(401, then=401)


async def test_no_reply_is_no_answer() -> None:
    """It is asked again with the next probe."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(JmxUnavailableError, match="cannot connect"):
            await see_guarded(session, f"127.0.0.1:{unused_port()}")
