"""A request's body, read from the client part by part."""

import asyncio

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

from nncache.proxy.clients.patience import Patience
from nncache.proxy.errors import ClientGoneError, MalformedRequestError, SlowRequestError
from nncache.proxy.limits import LimitSettings


class ClientBody:
    """Hands out the parts of a body as they arrive, and gives up on one that only drips.

    What counts is time spent waiting for the client (`patience.py`), not time in which the NameNode takes nothing.
    """

    def __init__(self, request: web.BaseRequest, limits: LimitSettings) -> None:
        self._content = request.content
        self._patience = Patience(limits)
        self.is_begun = False  # a part was asked for: the body can't be sent a second time

    @property
    def spent_s(self) -> float:
        """Seconds for which the client was waited for in vain; see `nncache.proxy.clients.patience.Patience`."""
        return self._patience.spent_s

    async def read_part(self) -> bytes:
        """Return what has arrived, waiting for it if nothing has; b"" after the last part.

        Raises:
            SlowRequestError: the client is too slow.
            MalformedRequestError: the chunks make no sense.
            ClientGoneError: the client left in the middle.
        """
        self.is_begun = True
        loop = asyncio.get_running_loop()
        began = loop.time()
        patience = self._patience
        try:
            async with asyncio.timeout(patience.left_s):
                part = await self._content.readany()
        except TimeoutError:
            raise SlowRequestError("the body came too slowly") from None
        except (RequestPayloadError, HttpProcessingError) as exc:
            raise MalformedRequestError(f"the body's chunks make no sense: {exc}") from exc
        except (OSError, RuntimeError) as exc:  # RuntimeError: StreamReader's word for a closed connection
            raise ClientGoneError("the client left before its body was complete") from exc
        patience.spend(loop.time() - began, len(part))
        return part
