"""Answer a request that is not WebHDFS, and count it like any other."""

from collections.abc import Awaitable, Callable

from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse, error_reply
from nncache.proxy.errors import ProxyError
from nncache.proxy.traffic import Exchange, Result, Traffic, result_of


async def counted_answer(
    traffic: Traffic,
    request: Request,
    answer: Callable[[Request, Exchange], Awaitable[RawResponse]],
) -> RawResponse:
    """Return the response of `answer`, or the error reply of the ProxyError that it raises.

    `answer` sets the result of the exchange; by default the request counts as refused.
    """
    exchange = Exchange(request.method, request.target, request.peer, traffic.clock())
    exchange.take_ids(request.first)
    exchange.result = Result.REFUSED
    try:
        response = await answer(request, exchange)
        exchange.status = response.status
    except ProxyError as error:
        exchange.result, exchange.status = result_of(error), error.status
        return error_reply(error)
    except Exception:
        exchange.result = Result.FAILED
        raise
    else:
        return response
    finally:
        traffic.ended(exchange)
