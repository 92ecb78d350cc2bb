"""The load, before servers that answer everything and count."""

from collections import Counter

from aiohttp import web
from aiohttp.test_utils import TestServer

from nncache.hadoop.globs import compile_glob
from tools.dashboards.live.load import GLOB, OTHER_CALLS, WORKFLOWS, load, success

DURATION_S = 2.0


class Server:
    """A WebHDFS that agrees to everything. Counts operations; `paths` are those of GETFILESTATUS."""

    def __init__(self) -> None:
        self.operations = Counter[str]()
        self.paths = set[str]()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = TestServer(app)

    async def __aenter__(self) -> str:
        await self._server.start_server()
        return f"{self._server.host}:{self._server.port}"

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    async def _answer(self, request: web.Request) -> web.Response:
        operation = request.query["op"]
        if operation == "CREATE" and "second" not in request.query:
            raise web.HTTPTemporaryRedirect(str(request.url.update_query(second="yes")))
        self.operations[operation] += 1
        if operation == "GETFILESTATUS":
            self.paths.add(request.path.removeprefix("/webhdfs/v1"))
        await request.read()
        status = 201 if operation == "CREATE" else 200
        return web.json_response({"boolean": True}, status=status)


def test_readers_ask_for_what_the_filter_matches() -> None:
    """Of all workflows, which come again and again."""
    assert all(compile_glob(GLOB).matches(success(number)) for number in range(WORKFLOWS))
    assert success(WORKFLOWS) == success(0)


async def test_every_kind_of_request_occurs_until_it_ends_by_itself() -> None:
    """Reads at each proxy, what no cache answers, and changes at the NameNode and through a proxy."""
    namenode, first, second = Server(), Server(), Server()
    async with namenode as at, first as proxy, second as other:
        sent = await load(at, "root", (proxy, other), DURATION_S)
    reads = [each.operations - Counter({"CREATE": 10**6, "DELETE": 10**6}) for each in (first, second)]
    answered = sum(sum(each.values()) for each in reads)
    assert 0 < answered <= sent
    for each in (first, second):
        assert {target.partition("op=")[2] for target in OTHER_CALLS} <= each.operations.keys()
        assert any(path.endswith("/_SUCCESS") for path in each.paths)
    assert {"MKDIRS", "SETOWNER", "CREATE", "DELETE"} <= namenode.operations.keys()
    assert {"CREATE", "DELETE"} <= first.operations.keys()


async def test_proxies_that_are_gone_do_not_end_it() -> None:
    """The dashboards show that; and the load goes on when they are back."""
    namenode = Server()
    async with namenode as at:
        assert await load(at, "root", ("127.0.0.1:1", "127.0.0.1:1"), 0.5) > 0
