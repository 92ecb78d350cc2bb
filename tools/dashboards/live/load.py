"""A small load in which every kind of request occurs: bounded in rate, and in time.

Readers poll for the files with which workflows say that they are done; a few clients ask for what no cache answers;
and some workflows end while that goes on, at the NameNode and through a proxy.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import aiohttp

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.webhdfs import WebHdfs

OWNER: Final = "alice"
GLOB: Final = "/user/*/workflow/*/_SUCCESS"
ROOT: Final = f"/user/{OWNER}/workflow"
WORKFLOWS: Final = 100
CALLERS: Final = ("alice", "bob")

READERS: Final = 8
"""Of each proxy."""

READ_EVERY_S: Final = 0.04
OTHER_EVERY_S: Final = 0.1
CHANGE_EVERY_S: Final = 0.5

OTHER_CALLS: Final = (
    f"{ROOT}?op=LISTSTATUS",
    f"{ROOT}/0?op=GETFILESTATUS",  # no filter matches it
    f"{ROOT}?op=GETCONTENTSUMMARY",
    f"{ROOT}/0?op=GETACLSTATUS",
)
"""What is never answered from memory."""


async def load(namenode: str, superuser: str, proxies: Sequence[str], duration_s: float) -> int:
    """Make the load for so long; returns how many requests were sent to proxies.

    Args:
        namenode: "host:port" of its WebHDFS.
        superuser: of HDFS.
        proxies: "host:port" of each.
        duration_s: until it ends by itself.
    """
    sent = itertools.count()
    async with WebHdfs(f"http://{namenode}", superuser) as hdfs:
        await hdfs.mkdirs(ROOT)
        await hdfs.set_owner(ROOT, OWNER)
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(duration_s),
            aiohttp.ClientSession() as session,
            asyncio.TaskGroup() as group,
        ):

            async def ask(proxy: str, target: str, user: str) -> None:
                next(sent)
                with suppress(aiohttp.ClientError):  # the dashboards show it
                    async with session.get(f"http://{proxy}{PREFIX}{target}&user.name={user}") as reply:
                        await reply.read()

            for proxy, number in itertools.product(proxies, range(READERS)):
                group.create_task(_read(proxy, number, ask))
            for proxy in proxies:
                group.create_task(_ask_others(proxy, ask))
            group.create_task(_change((f"http://{namenode}", f"http://{proxies[0]}")))
    return next(sent)


def success(workflow: int) -> str:
    """Return the file with which a workflow says that it is done."""
    return f"{ROOT}/{workflow % WORKFLOWS}/_SUCCESS"


Ask = Callable[[str, str, str], Awaitable[None]]
"""Sends a GET to a proxy, of a path with its operation, as a user."""


async def _read(proxy: str, number: int, ask: Ask) -> None:
    """Poll for all workflows in turn, from another one on than the next reader."""
    user = CALLERS[number % len(CALLERS)]
    for workflow in itertools.count(number * WORKFLOWS // READERS):
        await ask(proxy, f"{success(workflow)}?op=GETFILESTATUS", user)
        await asyncio.sleep(READ_EVERY_S)


async def _ask_others(proxy: str, ask: Ask) -> None:
    for target in itertools.cycle(OTHER_CALLS):
        await ask(proxy, target, OWNER)
        await asyncio.sleep(OTHER_EVERY_S)


async def _change(ways: Sequence[str]) -> None:
    """End workflows, and begin again those that have ended longest ago, by each way in turn."""
    clients = [WebHdfs(way, OWNER) for way in ways]
    async with clients[0], clients[1]:
        for step in itertools.count():
            hdfs = clients[step % len(clients)]
            with suppress(HadoopError, aiohttp.ClientError, TimeoutError):
                await hdfs.create(success(step), overwrite=True)
                await hdfs.delete(success(step + WORKFLOWS // 2))
            await asyncio.sleep(CHANGE_EVERY_S)
