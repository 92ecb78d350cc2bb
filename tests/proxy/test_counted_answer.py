"""A request that is not about WebHDFS is counted once, whatever becomes of it."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from nncache.proxy.clients.response import RawResponse
from nncache.proxy.counted_answer import counted_answer
from nncache.proxy.errors import ClientError, MethodNotAllowedError
from nncache.proxy.traffic import Exchange, Result, Traffic
from tests.proxy.doubles import FakeClock


class Fixture:
    """One request, for which this is raised; and what was seen of it."""

    def __init__(self, raised: Exception | None = None) -> None:
        self.seen: list[Exchange] = []
        self.traffic = Traffic(FakeClock())
        self.traffic.observers = (self,)
        self._raised = raised

    def answered(self, exchange: Exchange) -> None:
        """Observe."""
        self.seen.append(exchange)

    async def ask(self) -> web.StreamResponse:
        """Ask."""
        request = make_mocked_request("GET", "/v1/x", headers={"X-Request-Id": "r1"})
        return await counted_answer(self.traffic, request, self._answer, allow=b"GET")

    async def _answer(self, _: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        if self._raised is not None:
            raise self._raised
        exchange.result = Result.REGISTRY
        return RawResponse(200, "OK", (), body=b"")


@pytest.mark.parametrize(
    ("raised", "result", "status"),
    [(None, Result.REGISTRY, 200), (ClientError("no"), Result.REFUSED, 400)],
)
async def test_it_is_counted_once_by_what_became_of_it(
    raised: Exception | None, result: Result, status: int
) -> None:
    """With its id."""
    fixture = Fixture(raised)
    assert (await fixture.ask()).status == status
    (seen,) = fixture.seen
    assert (seen.result, seen.status, seen.request_id) == (result, status, "r1")


async def test_a_refused_method_names_those_that_are_allowed() -> None:
    """RFC 9110, section 15.5.6; no other refusal does."""
    for error, names in ((MethodNotAllowedError("no"), True), (ClientError("no"), False)):
        reply = await Fixture(error).ask()
        assert isinstance(reply, RawResponse)
        assert (b"\r\nAllow: GET\r\n" in reply.text(is_last=False)) is names


async def test_a_fault_of_ours_is_counted_as_one() -> None:
    """The server makes a reply of it."""
    fixture = Fixture(RuntimeError("a bug"))
    with pytest.raises(RuntimeError):
        await fixture.ask()
    assert [each.result for each in fixture.seen] == [Result.FAILED]
