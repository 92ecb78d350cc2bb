"""Findings 5 to 9 and 13: calls that make the cache forget others' entries or stop serving them."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Final

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.connection import CLIENT_PROTOCOL, Method, RpcConnection
from nncache.hadoop.rpc.proto import client_namenode_pb2 as pb
from tests.http_client import webhdfs
from tests.overload import places
from tests.overload.attack import Aim, Tally
from tests.overload.attacks.sending import again, keep_asking, keep_asking_at_once

_FIVE_A_SECOND: Final = 0.2
_MKDIRS: Final = Method(CLIENT_PROTOCOL, "mkdirs", is_repeatable=False)
_MODE: Final = b"\x12\x03\x08\xed\x03"  # field 2, FsPermissionProto: perm 0755
_CREATE_PARENT: Final = b"\x18\x01"  # field 3
_TOGGLE_S: Final = 0.2
_RPC_S: Final = 5.0

FLUSHES: Final = (
    webhdfs("PUT", "/.reserved/.inodes/16385/x", "CREATE"),
    webhdfs("PUT", "/", "RENAME", extra="&destination=/data/carol/x"),
    webhdfs("DELETE", "/", "DELETE", user="", extra="&recursive=true"),
    webhdfs("PATCH", "/", "X"),
    webhdfs("PATCH", "/data/carol/x", "X", extra="&a=/user&b=/data"),
)


async def flushes(aim: Aim, tally: Tally) -> None:
    """Send in turn each request that once emptied the cache, and one over RPC."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(keep_asking(aim, tally, again(*FLUSHES), _FIVE_A_SECOND))
        tasks.create_task(_odd_names(aim, tally))


async def _odd_names(aim: Aim, tally: Tally) -> None:
    connection = RpcConnection(aim.rpc, "carol")
    try:
        for number in itertools.count():
            source = f"/data/carol/odd\0{number}".encode()
            # Our .proto of this message has only `src`; the other fields of MkdirsRequestProto pass through it.
            fields = b"\x0a" + bytes((len(source),)) + source + _MODE + _CREATE_PARENT
            await connection.call(
                _MKDIRS, pb.GetFileInfoRequest.FromString(fields), pb.GetFileInfoResponse, timeout_s=_RPC_S
            )
            tally.requests += 1
            await asyncio.sleep(5 * _FIVE_A_SECOND)
    finally:
        await connection.close()


async def windows(aim: Aim, tally: Tally) -> None:
    """Send the first step of 400 CREATEs where only bob may write, and never the second."""
    calls = (webhdfs("PUT", f"/user/bob/workflow/2026/11/{number}", "CREATE") for number in range(400))
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=4)


async def refused_reads(aim: Aim, tally: Tally) -> None:
    """Send refused and unknown calls that name the polled paths."""
    await keep_asking(aim, tally, again(*_naming()), _FIVE_A_SECOND)


def _naming() -> Iterator[bytes]:
    paths = (*places.PRESENT, *places.ABSENT)
    many = "".join(f"&p{number}={path}" for number, path in enumerate(paths))
    for path in paths[:: len(paths) // 10]:
        yield webhdfs("GET", path, "OPEN", extra="&offset=-1")
        yield webhdfs("GET", path, "NOBODYKNOWS")
        yield webhdfs("PUT", "/data/carol/x", "NOBODYKNOWS", extra=many)


async def uploads(aim: Aim, tally: Tally) -> None:
    """Upload files into a home that only its owner may enter, and start an upload into another user's."""
    async with WebHdfs(f"http://{aim.proxy}", "carol") as hdfs, asyncio.TaskGroup() as tasks:
        calls = (webhdfs("PUT", f"/user/bob/mine/upload{number}", "CREATE") for number in itertools.count())
        tasks.create_task(keep_asking(aim, tally, calls, 5 * _FIVE_A_SECOND))
        for number in itertools.count():
            await hdfs.create(f"/user/carol/mine/upload{number}", b"carol's", overwrite=True)
            tally.requests += 2
            await asyncio.sleep(5 * _FIVE_A_SECOND)


async def own_filters(aim: Aim, tally: Tally) -> None:
    """Add and remove a subscriber of carol's own filter, which she may do as its owner."""
    async with WebHdfs(f"http://{aim.namenode}", "carol") as hdfs:
        for number in itertools.count():
            subscriber = f"{aim.filters_path}/carol{number % 10}/subscribers/someone"
            await hdfs.mkdirs(subscriber)
            await asyncio.sleep(_TOGGLE_S)
            await hdfs.delete(subscriber)
            await asyncio.sleep(_TOGGLE_S)
            tally.requests += 2
