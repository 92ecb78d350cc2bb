"""A request's body, read from the client part by part. (proxy/client_body.py)"""

import asyncio

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

from proxy.errors import ClientGoneError, MalformedRequestError, SlowRequestError
from proxy.limits import LimitSettings


class ClientBody:
    """Hands out the parts of a body as they arrive, and gives up on one that only drips.

    Time spent waiting for the client is what counts, not time in which the NameNode takes nothing: in all it
    may be `body_timeout_s` and one second more for every `min_body_rate_bytes_s` received.
    """

    def __init__(self, request: web.BaseRequest, limits: LimitSettings) -> None:
        self._content = request.content
        self._grace_s = limits.body_timeout_s
        self._rate_bytes_s = limits.min_body_rate_bytes_s
        self._waited_s = 0.0  # for the client, so far
        self._received_bytes = 0
        self.is_begun = False  # a part was asked for: the body can't be sent a second time
        self.is_ended = False  # the last part was handed out

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
        patience_s = self._grace_s + self._received_bytes / self._rate_bytes_s - self._waited_s
        try:
            async with asyncio.timeout(patience_s):
                part = await self._content.readany()
        except TimeoutError:
            raise SlowRequestError(
                f"the body came too slowly: {self._received_bytes} bytes in {self._waited_s + patience_s:.0f} s"
            ) from None
        except (RequestPayloadError, HttpProcessingError) as exc:
            raise MalformedRequestError(f"the body's chunks make no sense: {exc}") from exc
        except (OSError, RuntimeError) as exc:  # RuntimeError: StreamReader's word for a closed connection
            raise ClientGoneError("the client left before its body was complete") from exc
        self._waited_s += loop.time() - began
        self._received_bytes += len(part)
        self.is_ended = not part
        return part
