"""Make edits at a rate, and write down when each was acknowledged: `python -m nncache.bench.inotify_load`.

A process of its own, so that what it costs is not in the way of those that are measured. One JSON object on standard
output: the paths that were made, each with the time of its acknowledgement by CLOCK_MONOTONIC.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Final

import click

from nncache.hadoop.rpc.namespace_calls import NamespaceCalls
from nncache.hadoop.webhdfs import WebHdfs

DEPTH: Final = 20
"""Directories that one call makes, each an edit: so one process makes thousands of edits a second."""

MARK: Final = "_SUCCESS"
TIMEOUT_S: Final = 30.0


@click.command()
@click.argument("http")
@click.argument("user")
@click.option("--seconds", type=float, required=True)
@click.option("--per-s", type=float, default=0.0, help="Paths a second below --directory that are noted.")
@click.option("--directory", default="/team", help="Of these.")
@click.option("--places", default=1, help="Directories among which they are spread.")
@click.option("--edits-per-s", type=float, default=0.0, help="Edits beside, of paths that match no filter.")
def main(
    http: str, user: str, *, seconds: float, per_s: float, directory: str, places: int, edits_per_s: float
) -> None:
    """Make edits of the NameNode at this HTTP address, as this user."""
    acknowledged: dict[str, float] = {}
    below = "/".join(f"d{level:02}" for level in range(DEPTH - 1))

    async def run() -> None:
        async with WebHdfs(f"http://{http}", user) as hdfs:
            address, check = await hdfs.rpc_side()
            edits = NamespaceCalls(address, user, check, timeout_s=TIMEOUT_S)
            await edits.connect()

            async def note(number: int) -> None:
                path = f"{directory}/{number % places}/{number}/x/{MARK}"  # matches the glob of one filter
                await edits.mkdirs(path)
                acknowledged[path] = time.monotonic()

            async def fill(number: int) -> None:
                await edits.mkdirs(f"/load{directory}/{number}/{below}")

            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(at_rate(per_s, seconds, note))
                    tasks.create_task(at_rate(edits_per_s / DEPTH, seconds, fill))
            finally:
                await edits.close()

    asyncio.run(run())
    click.echo(json.dumps(acknowledged))


async def at_rate(per_s: float, seconds: float, act: Callable[[int], Awaitable[None]]) -> None:
    """Act at this rate, whether or not earlier ones have ended; none is left out when it is late."""

    async def one(number: int) -> None:
        await act(number)

    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number in range(round(per_s * seconds)):
            await asyncio.sleep(max(0.0, began + number / per_s - time.monotonic()))
            tasks.create_task(one(number))


if __name__ == "__main__":
    main()
